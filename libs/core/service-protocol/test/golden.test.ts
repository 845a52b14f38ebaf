import { describe, expect, test } from "@jest/globals";
import { toHex } from "@perdure/base";
import {
  commandAckFrame,
  commandTypeOf,
  decodeCommand,
  decodeControl,
  decodeNotification,
  decodeStart,
  encodeCommand,
  encodeControl,
  encodeFrame,
  encodeNotification,
  encodeStart,
  FrameDecoder,
  isCommand,
  isNotification,
  MessageType,
  messageTypeName,
  notificationIdOf,
  notificationVariantOf,
  type ProtocolVersion,
  proposeRunCompletionAckFrame,
  resultCompletionIdOf,
} from "../src/index.js";
import {
  type RecordedFrame,
  recordedAck,
  recordedCommand,
  recordedControl,
  recordedFrames,
  recordedNotification,
  recordedStart,
} from "./recorded.js";

describe.each([5, 6, 7] as const)("recorded frames of protocol v%i", (version) => {
  const frames = recordedFrames(version);
  const commands = frames.filter(({ type }) => isCommand(type));
  const notifications = frames.filter(({ type }) => isNotification(type));
  const starts = frames.filter(({ type }) => type === MessageType.Start);
  const acks = frames.filter(({ type }) => type === MessageType.CommandAck || type === MessageType.ProposeRunCompletionAck);
  const controls = frames.filter(({ type, to }) => to === "server" && !isCommand(type));

  test("every frame belongs to one of the groups below, and each group has frames", () => {
    const grouped = commands.length + notifications.length + starts.length + acks.length + controls.length;
    expect(grouped).toBe(frames.length);
    // The small v5 set holds no run that requests an ack.
    for (const group of [commands, notifications, starts, controls]) expect(group.length).toBeGreaterThan(10);
  });

  test("commands decode to the recorded fields and encode to the recorded bytes", () => {
    for (const frame of commands) {
      const expected = recordedCommand(frame);
      expectSame(frame, decodeCommand(frame.type, frame.body), expected);
      expectBytes(frame, encodeCommand(expected));
      expect(commandTypeOf[expected.kind]).toBe(frame.type);
      const resultId = "resultCompletionId" in expected ? expected.resultCompletionId : undefined;
      expect(resultCompletionIdOf(frame.type, frame.body)).toBe(resultId);
    }
  });

  test("notifications decode to the recorded fields and encode to the recorded bytes", () => {
    for (const frame of notifications) {
      const { id, result } = recordedNotification(frame);
      expectSame(frame, decodeNotification(frame.type, frame.body), { kind: "notification", type: frame.type, id, result });
      expectBytes(frame, encodeNotification(id, result));
      expectSame(frame, notificationIdOf(frame.type, frame.body), id);
      expect(notificationVariantOf(frame.body)).toBe(result.kind);
    }
  });

  test("start messages decode to the recorded fields and encode to the recorded bytes", () => {
    for (const frame of starts) {
      const expected = recordedStart(frame);
      expectSame(frame, decodeStart(frame.body), expected);
      expectBytes(frame, encodeStart(expected, version));
    }
  });

  test("acks encode to the recorded frames", () => {
    for (const frame of acks) {
      const encode = frame.type === MessageType.CommandAck ? commandAckFrame : proposeRunCompletionAckFrame;
      expect(toHex(encode(recordedAck(frame)))).toBe(toHex(encodeFrame(frame.type, frame.body)));
    }
  });

  test("messages of the SDK besides commands decode to the recorded fields and encode to the recorded bytes", () => {
    for (const frame of controls) {
      const expected = recordedControl(frame);
      expectSame(frame, decodeControl(frame.type, frame.body, version), expected);
      expectBytes(frame, encodeControl(expected, version));
    }
  });

  test("all frames in one stream come out as they went in", () => {
    const decoder = new FrameDecoder();
    for (const { type, flags, body } of frames) {
      decoder.push(encodeFrame(type, body, flags));
      const frame = decoder.next()!;
      expect([frame.type, frame.flags, toHex(frame.body)]).toEqual([type, flags, toHex(body)]);
    }
    expect(decoder.next()).toBeUndefined();
    expect(decoder.end()).toBe(false);
  });
});

test("a suspension is read by the pinned version: the lists of v6 are not a condition on v7", () => {
  const suspension = recordedFrames(6).find(({ type }) => type === MessageType.Suspension)!;
  const decode = (version: ProtocolVersion) => decodeControl(suspension.type, suspension.body, version);
  expect(decode(6).kind).toBe("suspension");
  expect(decode(7)).toMatchObject({ kind: "fault", code: "RT0012" });
});

function expectSame(frame: RecordedFrame, actual: unknown, expected: unknown): void {
  expect({ frame: titleOf(frame), value: actual }).toEqual({ frame: titleOf(frame), value: expected });
}

function expectBytes(frame: RecordedFrame, actual: Uint8Array): void {
  expect(`${titleOf(frame)} ${toHex(actual)}`).toBe(`${titleOf(frame)} ${toHex(frame.body)}`);
}

function titleOf(frame: RecordedFrame): string {
  return `${messageTypeName(frame.type)} to ${frame.to} in ${frame.scenario}`;
}
