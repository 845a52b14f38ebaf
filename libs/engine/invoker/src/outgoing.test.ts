import { describe, expect, test } from "@jest/globals";
import { concatBytes, toHex } from "@perdure/base";
import { encodeFrame, encodeFrameHeader, MessageType } from "@perdure/service-protocol";
import { SeededRandom } from "@perdure/testkit";
import { GATHER_BYTES, OUTGOING_BYTES_MAX } from "./limits.js";
import { frameInPieces, Outgoing, type OutgoingFrame } from "./outgoing.js";

function frameOf(size: number, fill = 1): OutgoingFrame {
  return { type: MessageType.Signal, body: new Uint8Array(size).fill(fill) };
}

function open(replay: OutgoingFrame[], writable = () => true, beginning?: readonly Uint8Array[]) {
  const writes: Uint8Array[] = [];
  let halfClosed = 0;
  const sink = {
    write(bytes: Uint8Array) {
      writes.push(bytes);
      return writable();
    },
    halfClose: () => halfClosed++,
    requestFlush: () => outgoing.flush(),
  };
  const outgoing: Outgoing = new Outgoing(replay, sink, beginning);
  return { outgoing, writes, halfClosed: () => halfClosed };
}

describe("outgoing frames", () => {
  test("small frames are gathered into one write, a large body is written without a copy", () => {
    const large = frameOf(GATHER_BYTES * 2);
    const { outgoing, writes } = open([frameOf(10), frameOf(20), large, frameOf(30)]);
    outgoing.flush();
    expect(writes.map((bytes) => bytes.length)).toEqual([8 + 10 + 8 + 20, 8, large.body.length, 8 + 30]);
    expect(writes[2]).toBe(large.body);
  });

  test("the bytes are complete and in order, whatever their sizes and however often writing waits", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = new SeededRandom(seed);
      const sizes = () => (random.chance(0.1) ? GATHER_BYTES - 8 + random.below(20) : random.below(2_000));
      const replay = Array.from({ length: random.below(60) }, (_, i) => frameOf(sizes(), i));
      const live = Array.from({ length: random.below(60) }, (_, i) => frameOf(sizes(), 100 + i));
      const { outgoing, writes, halfClosed } = open(replay, () => random.chance(0.5));
      outgoing.flush();
      for (const { type, body } of live) {
        outgoing.push(type, body);
        if (random.chance(0.3)) outgoing.drained();
      }
      outgoing.close();
      for (let turn = 0; !outgoing.closed; turn++) {
        expect(turn).toBeLessThan(500);
        outgoing.drained();
      }
      const expected = concatBytes(...[...replay, ...live].map(({ type, body }) => encodeFrame(type, body)));
      expect(toHex(concatBytes(...writes))).toBe(toHex(expected));
      expect(halfClosed()).toBe(1);
    }
  });

  test("nothing is written during backpressure, and the end waits too", () => {
    const { outgoing, writes, halfClosed } = open([frameOf(GATHER_BYTES), frameOf(1)], () => false);
    outgoing.flush();
    outgoing.close();
    expect([writes.length, halfClosed()]).toEqual([2, 0]);
    outgoing.drained();
    expect([writes.length, halfClosed()]).toEqual([3, 0]);
    outgoing.drained();
    expect([writes.length, halfClosed()]).toEqual([3, 1]);
  });

  test("an endpoint that does not read gets its request closed instead of an unbounded queue", () => {
    const { outgoing, writes, halfClosed } = open([frameOf(1)], () => false);
    outgoing.flush();
    const body = new Uint8Array(100 * 1024);
    let pushed = 0;
    for (; outgoing.open && pushed < 1_000; pushed++) outgoing.push(MessageType.Signal, body);
    expect(pushed * body.length).toBeLessThanOrEqual(OUTGOING_BYTES_MAX + body.length);
    while (!outgoing.closed) outgoing.drained();
    const written = concatBytes(...writes.slice(1));
    expect(written).toEqual(concatBytes(...Array.from({ length: pushed - 1 }, () => encodeFrame(MessageType.Signal, body))));
    expect(halfClosed()).toBe(1);
  });

  test("one frame is always accepted, however large", () => {
    const { outgoing, writes } = open([frameOf(1)], () => false);
    outgoing.flush();
    const body = new Uint8Array(OUTGOING_BYTES_MAX * 2);
    outgoing.push(MessageType.Signal, body);
    expect(outgoing.open).toBe(true);
    outgoing.drained();
    expect(writes.slice(1).map((bytes) => bytes.length)).toEqual([8, body.length]);
    expect(writes.at(-1)).toBe(body);
    outgoing.push(MessageType.Signal, new Uint8Array(1));
    outgoing.push(MessageType.Signal, new Uint8Array(OUTGOING_BYTES_MAX));
    expect(outgoing.open).toBe(false);
  });

  test("a beginning in pieces comes first, each piece without a copy, and waits like everything else", () => {
    const value = new Uint8Array(GATHER_BYTES * 2);
    const beginning = frameInPieces(MessageType.Start, [new Uint8Array(3), value, new Uint8Array(2)]);
    let isWritable = true;
    const { outgoing, writes } = open([frameOf(1)], () => isWritable, beginning);
    expect(outgoing.isIdle).toBe(false);
    isWritable = false;
    outgoing.flush();
    expect(writes.length).toBe(1);
    for (let turn = 0; turn < 4; turn++) outgoing.drained();
    expect(writes[2]).toBe(value);
    expect(toHex(writes[0]!)).toBe(toHex(encodeFrameHeader(MessageType.Start, 0, value.length + 5)));
    expect(writes.map((bytes) => bytes.length)).toEqual([8, 3, value.length, 2, 8 + 1]);
    isWritable = true;
    outgoing.drained();
    expect(outgoing.isIdle).toBe(true);
  });

  test("an unwritten beginning is dropped with the rest", () => {
    const { outgoing, writes } = open([], () => false, [new Uint8Array(1), new Uint8Array(2)]);
    outgoing.flush();
    outgoing.closeNow();
    outgoing.drained();
    expect(writes.length).toBe(1);
  });

  test("closing now drops what was not written and half-closes once", () => {
    const { outgoing, writes, halfClosed } = open([frameOf(1), frameOf(GATHER_BYTES)], () => false);
    outgoing.flush();
    outgoing.closeNow();
    outgoing.closeNow();
    outgoing.drained();
    outgoing.push(MessageType.Signal, new Uint8Array(1));
    expect([writes.length, halfClosed()]).toEqual([1, 1]);
  });
});
