import { describe, expect, test } from "@jest/globals";
import { fromHex, ProtoError, toHex, utf8 } from "@perdure/base";
import { isFault } from "../fault.js";
import { MessageType } from "../message-type.js";
import { decodeControl } from "./control.js";
import { decodeCommand } from "./decode-command.js";
import { encodeCommand, encodeInput } from "./encode-command.js";
import { decodeNotification, encodeCompletion, encodeNotification } from "./notification.js";
import {
  invocationIdCompletionIdOf,
  notificationOutcomeOf,
  outputResultOf,
  proposalCompletionIdOf,
  resultCompletionIdOf,
} from "./peek.js";
import { decodeStart } from "./start.js";

function hex(text: string): Uint8Array {
  return fromHex(text.replaceAll(" ", ""))!;
}

describe("presence", () => {
  test("an empty value is written and read as a value, none as void", () => {
    expect(toHex(encodeCompletion(3, { kind: "value", value: new Uint8Array(0) }))).toBe("08032a00");
    expect(toHex(encodeCompletion(3, { kind: "void" }))).toBe("08032200");
    expect(decodeNotification(MessageType.GetLazyStateCompletion, hex("0803 2a00"))).toMatchObject({
      result: { kind: "value", value: new Uint8Array(0) },
    });
    expect(decodeNotification(MessageType.GetLazyStateCompletion, hex("0803 2200"))).toMatchObject({ result: { kind: "void" } });
  });

  test("the input of an empty body is a zero-length value", () => {
    expect(toHex(encodeInput([], new Uint8Array(0)))).toBe("7200");
  });

  test("the input of a large body is the same with and without space in front of it, and is not copied where the space suffices", () => {
    const headers = [{ key: "content-type", value: "text/plain" }];
    const memory = new Uint8Array(100_100).fill(7);
    const body = memory.subarray(100);
    const expected = encodeInput(headers, body);
    expect(encodeInput(headers, body, 20)).toEqual(expected); // Too little.
    expect(memory.subarray(0, 100)).toEqual(new Uint8Array(100).fill(7));
    const inPlace = encodeInput(headers, body, 100);
    expect(inPlace).toEqual(expected);
    expect(inPlace.buffer).toBe(memory.buffer);
    expect(memory.subarray(0, 10)).toEqual(new Uint8Array(10).fill(7));
    expect(encodeInput(headers, memory.subarray(100, 110), 100)).toEqual(encodeInput(headers, new Uint8Array(10).fill(7)));
  });

  test("ids of a choice are written even when they are zero or empty", () => {
    expect(toHex(encodeNotification({ kind: "completion", id: 0 }, { kind: "void" }))).toBe("08002200");
    expect(toHex(encodeNotification({ kind: "signalName", name: "" }, { kind: "void" }))).toBe("1a002200");
    const signal = {
      kind: "sendSignal",
      targetInvocationId: "",
      signal: { kind: "signalIndex", index: 0 },
      result: { kind: "void" },
      name: "",
    } as const;
    expect(toHex(encodeCommand(signal))).toBe("10002200");
  });

  test("an optional text is absent or empty, and stays so", () => {
    expect(decodeCommand(MessageType.Call, hex("3200"))).toMatchObject({ idempotencyKey: "", scope: undefined });
    expect(decodeCommand(MessageType.Call, hex(""))).toMatchObject({ idempotencyKey: undefined });
  });

  test("an error without a retry delay is not one with a delay of zero", () => {
    expect(decodeControl(MessageType.Error, hex("4000"), 6)).toMatchObject({ nextRetryDelayMs: 0 });
    expect(decodeControl(MessageType.Error, hex("08f403"), 6)).toMatchObject({ code: 500, nextRetryDelayMs: undefined });
  });
});

describe("what cannot be decoded is RT0012", () => {
  test.each([
    ["Output without result", MessageType.Output, "", "malformed Output message: missing result"],
    ["SetState without value", MessageType.SetState, "0a0161", "malformed SetState message: missing value"],
    ["GetEagerState without result", MessageType.GetEagerState, "0a0161", "malformed GetEagerState message: missing result"],
    ["GetEagerStateKeys without value", MessageType.GetEagerStateKeys, "", "malformed GetEagerStateKeys message: missing value"],
    [
      "CompletePromise without completion",
      MessageType.CompletePromise,
      "0a0161",
      "malformed CompletePromise message: missing completion",
    ],
    ["SendSignal without signal id", MessageType.SendSignal, "2200", "malformed SendSignal message: missing signal id"],
    ["SendSignal without result", MessageType.SendSignal, "1001", "malformed SendSignal message: missing result"],
    [
      "AttachInvocation without target",
      MessageType.AttachInvocation,
      "5801",
      "malformed AttachInvocation message: missing target",
    ],
    [
      "CompleteAwakeable without result",
      MessageType.CompleteAwakeable,
      "0a0161",
      "malformed CompleteAwakeable message: missing result",
    ],
    ["text that is not UTF-8", MessageType.Run, "6201ff", "malformed Run message: text that is not UTF-8"],
    ["a length beyond the end", MessageType.Run, "620561", "malformed Run message: a length beyond the end of the message"],
    ["a notification", MessageType.SleepCompletion, "08012200", "SleepCompletion is not a command"],
  ])("command: %s", (_, type, body, detail) => {
    expect(decodeCommand(type, hex(body))).toEqual({ kind: "fault", code: "RT0012", detail });
  });

  test.each([
    [
      "a proposal without result",
      MessageType.ProposeRunCompletion,
      6,
      "0801",
      "malformed ProposeRunCompletion message: missing result",
    ],
    ["an empty suspension on v6", MessageType.Suspension, 6, "", "Suspension message awaits nothing"],
    ["the tree of v7 on v6", MessageType.Suspension, 6, "22050a01012801", "Suspension message awaits nothing"],
    ["the lists of v6 on v7", MessageType.Suspension, 7, "0a0101", "Suspension message awaits nothing"],
    ["an empty tree on v7", MessageType.Suspension, 7, "22022801", "Suspension message awaits nothing"],
    ["AwaitingOn without a tree", MessageType.AwaitingOn, 7, "1001", "malformed AwaitingOn message: missing awaited future"],
    ["a Start from the SDK", MessageType.Start, 7, "", "Start is not a control message of an SDK"],
    ["an ack from the SDK", MessageType.CommandAck, 7, "0801", "CommandAck is not a control message of an SDK"],
  ] as const)("control: %s", (_, type, version, body, detail) => {
    expect(decodeControl(type, hex(body), version)).toEqual({ kind: "fault", code: "RT0012", detail });
  });

  test.each([
    ["without id", "2200", "malformed Signal message: missing notification id"],
    ["without result", "1001", "malformed Signal message: missing result"],
  ])("notification %s", (_, body, detail) => {
    expect(decodeNotification(MessageType.Signal, hex(body))).toEqual({ kind: "fault", code: "RT0012", detail });
  });

  test("a start with a state entry cut short", () => {
    expect(isFault(decodeStart(hex("2203 0a05 61")))).toBe(true);
  });
});

describe("unknown fields and values", () => {
  test("unknown fields are passed over", () => {
    expect(decodeCommand(MessageType.Run, hex("5801 a20103616263 a80105 b50100000000 b9010000000000000000 620172"))).toEqual({
      kind: "run",
      resultCompletionId: 1,
      name: "r",
    });
  });

  test("an unknown behaviour means retry, an unknown combinator means none", () => {
    expect(decodeControl(MessageType.Error, hex("4807"), 7)).toMatchObject({ behavior: "retry" });
    expect(decodeControl(MessageType.AwaitingOn, hex("0a050a01012809"), 7)).toMatchObject({
      awaitingOn: { combinator: "unknown" },
    });
  });

  test("lists are read packed and unpacked", () => {
    const expected = { awaitingOn: { completions: [1, 2], signalIndexes: [1, 17] } };
    expect(decodeControl(MessageType.Suspension, hex("0a020102 12020111"), 6)).toMatchObject(expected);
    expect(decodeControl(MessageType.Suspension, hex("0801 0802 1001 1011"), 6)).toMatchObject(expected);
  });
});

describe("peeks", () => {
  const call = hex("0a0153 1201 68 5001 5802");

  test("a call has an id for its callee's id and one for its result, a one-way call only the first", () => {
    expect(resultCompletionIdOf(MessageType.Call, call)).toBe(2);
    expect(invocationIdCompletionIdOf(MessageType.Call, call)).toBe(1);
    expect(resultCompletionIdOf(MessageType.OneWayCall, call)).toBeUndefined();
    expect(invocationIdCompletionIdOf(MessageType.OneWayCall, call)).toBe(1);
    expect(invocationIdCompletionIdOf(MessageType.Sleep, call)).toBeUndefined();
    expect(resultCompletionIdOf(MessageType.SetState, call)).toBeUndefined();
  });

  test("an output's result and a proposal's id are read alone", () => {
    expect(outputResultOf(hex("7206 0a04 74727565"))).toEqual({ kind: "value", value: utf8("true") });
    expect(outputResultOf(hex("7a03 089903"))).toEqual({ kind: "failure", failure: { code: 409, message: "", metadata: [] } });
    expect(proposalCompletionIdOf(hex("0807 7200"))).toBe(7);
  });

  test("a failure counts as failure, everything else as success", () => {
    expect(notificationOutcomeOf(hex("0801 3200"))).toBe("failure");
    for (const body of ["0801 2200", "0801 2a00", "0801 820100", "0801 8a0100"])
      expect(notificationOutcomeOf(hex(body))).toBe("success");
  });

  test("corrupt stored bytes throw ProtoError", () => {
    expect(() => resultCompletionIdOf(MessageType.Run, hex("58"))).toThrow(ProtoError);
    expect(() => outputResultOf(hex(""))).toThrow(ProtoError);
  });
});

test("payloads are views into the body, not copies", () => {
  const body = encodeCommand({ kind: "setState", stateKey: utf8("k"), value: utf8("v"), name: "" });
  const command = decodeCommand(MessageType.SetState, body);
  expect(command).toMatchObject({ kind: "setState" });
  if (command.kind === "setState") expect(command.value.buffer).toBe(body.buffer);
});
