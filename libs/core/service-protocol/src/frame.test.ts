import { describe, expect, test } from "@jest/globals";
import { encodeFrame, encodeFrameHeader, endFrame, FrameDecoder } from "./frame.js";
import { frameBodyBytesLimit, frameGatherBytesInitial } from "./limits.js";
import { MessageType, requestedAckFlag } from "./message-type.js";

const sleepBody = Uint8Array.of(8, 1, 88, 1);

describe("encoding", () => {
  test("a header is type, flags and length, big-endian", () => {
    expect(encodeFrameHeader(MessageType.Signal, requestedAckFlag, 0x01020304)).toEqual(
      Uint8Array.of(0xfb, 0xff, 0x80, 0, 1, 2, 3, 4),
    );
  });

  test("a frame is its header and its body", () => {
    expect(encodeFrame(MessageType.Sleep, sleepBody)).toEqual(Uint8Array.of(4, 0x0c, 0, 0, 0, 0, 0, 4, 8, 1, 88, 1));
    expect(endFrame).toEqual(Uint8Array.of(0, 3, 0, 0, 0, 0, 0, 0));
  });
});

describe("decoding", () => {
  test("a body inside one chunk is a view of it", () => {
    const chunk = encodeFrame(MessageType.Sleep, sleepBody, requestedAckFlag);
    const decoder = new FrameDecoder();
    decoder.push(chunk);
    const frame = decoder.next();
    expect(frame).toEqual({ type: MessageType.Sleep, flags: requestedAckFlag, body: sleepBody });
    expect(frame?.body.buffer).toBe(chunk.buffer);
  });

  test("a body larger than its initial buffer comes whole out of many small chunks", () => {
    const body = new Uint8Array(frameGatherBytesInitial * 5 + 77).map((_, i) => i % 251);
    const frame = encodeFrame(MessageType.Output, body);
    const decoder = new FrameDecoder();
    for (let at = 0; at < frame.length; at += 1000) {
      expect(decoder.next()).toBeUndefined();
      decoder.push(frame.slice(at, at + 1000));
    }
    const received = decoder.next();
    expect(Buffer.compare(received!.body, body)).toBe(0);
    expect(received!.body.buffer.byteLength).toBe(body.length);
    expect(decoder.next()).toBeUndefined();
  });

  test("empty chunks change nothing", () => {
    const decoder = new FrameDecoder();
    decoder.push(new Uint8Array(0));
    decoder.push(endFrame.subarray(0, 3));
    decoder.push(new Uint8Array(0));
    decoder.push(endFrame.subarray(3));
    expect(decoder.next()).toEqual({ type: MessageType.End, flags: 0, body: new Uint8Array(0) });
    expect(decoder.end()).toBe(false);
  });

  test("a length at the limit is RT0003 as soon as its header is read, one below is waited for", () => {
    const limit = frameBodyBytesLimit();
    expect(limit).toBe(33_816_576);
    const refused = new FrameDecoder();
    refused.push(encodeFrameHeader(MessageType.Output, 0, limit));
    expect(refused.next()).toBeUndefined();
    expect(refused.fault).toEqual({
      kind: "fault",
      code: "RT0003",
      detail: "Output message of 33816576 bytes hits the message size limit of 33816576 bytes",
    });
    const accepted = new FrameDecoder();
    accepted.push(encodeFrameHeader(MessageType.Output, 0, limit - 1));
    expect(accepted.next()).toBeUndefined();
    expect(accepted.fault).toBeUndefined();
    expect(accepted.end()).toBe(true);
  });

  test("lengths with the highest bit set are large, not negative", () => {
    const decoder = new FrameDecoder();
    decoder.push(encodeFrameHeader(MessageType.Output, 0, 0xffff_ffff));
    expect(decoder.next()).toBeUndefined();
    expect(decoder.fault?.code).toBe("RT0003");
  });

  test.each([0x1234, 0x0008, 0x040f, 0x0415, 0x8001, 0xfc00, 0xffff])("the unknown type %i is RT0012", (type) => {
    const decoder = new FrameDecoder();
    decoder.push(encodeFrame(type, sleepBody));
    expect(decoder.next()).toBeUndefined();
    const hex = type.toString(16).toUpperCase().padStart(4, "0");
    expect(decoder.fault).toEqual({ kind: "fault", code: "RT0012", detail: `unknown message type 0x${hex}` });
  });

  test("frames before a fault are handed out, nothing after it is", () => {
    const decoder = new FrameDecoder(100);
    decoder.push(encodeFrame(MessageType.Sleep, sleepBody));
    decoder.push(encodeFrameHeader(MessageType.Output, 0, 100));
    decoder.push(endFrame);
    expect(decoder.next()?.type).toBe(MessageType.Sleep);
    expect(decoder.fault).toBeUndefined();
    expect(decoder.next()).toBeUndefined();
    expect(decoder.fault?.code).toBe("RT0003");
    decoder.push(endFrame);
    expect(decoder.next()).toBeUndefined();
    expect(decoder.end()).toBe(false);
  });

  test.each([
    ["inside a header", endFrame.subarray(0, 5)],
    ["inside a body", encodeFrame(MessageType.Sleep, sleepBody).subarray(0, 9)],
    ["before a body", encodeFrame(MessageType.Sleep, sleepBody).subarray(0, 8)],
  ])("a stream that ends %s is truncated", (_, bytes) => {
    const decoder = new FrameDecoder();
    decoder.push(bytes);
    expect(decoder.next()).toBeUndefined();
    expect(decoder.end()).toBe(true);
  });

  test("a stream that ends before any frame was read is truncated too", () => {
    const decoder = new FrameDecoder();
    decoder.push(endFrame);
    expect(decoder.end()).toBe(true);
    expect(decoder.next()).toBeUndefined();
  });
});
