import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { type BodyFailure, BodyGate, type BodyReading } from "./body-gate.js";
import { announcedGrowthFactor, BODY_SPACE_BYTES } from "./limits.js";

interface ReceivedBodies {
  bodies: Uint8Array[];
  spaces: number[];
  failures: BodyFailure[];
}

function aGate(limits: { requestBytesMax?: number; bufferedBodyBytesMax?: number; bodyTimeoutMs?: number } = {}): {
  gate: BodyGate;
  clock: VirtualClock;
  open(announcedBytes?: number): { reading: BodyReading; received: ReceivedBodies };
} {
  const clock = new VirtualClock();
  const gate = new BodyGate(clock, { requestBytesMax: 100, bufferedBodyBytesMax: 1000, bodyTimeoutMs: 60_000, ...limits });
  return {
    gate,
    clock,
    open(announcedBytes) {
      const received: ReceivedBodies = { bodies: [], spaces: [], failures: [] };
      const receiver = {
        body: (bytes: Uint8Array, spaceBytes: number) => {
          received.bodies.push(bytes);
          received.spaces.push(spaceBytes);
        },
        bodyFailed: (cause: BodyFailure) => received.failures.push(cause),
      };
      const reading = gate.open(receiver, announcedBytes);
      return { reading, received };
    },
  };
}

describe("a body", () => {
  test("of one chunk is handed on without a copy", () => {
    const { reading, received } = aGate().open();
    const chunk = utf8("whole");
    reading.data(chunk);
    reading.end();
    expect(received.bodies[0]).toBe(chunk);
  });

  test("of many chunks comes out in order", () => {
    const { reading, received } = aGate().open();
    for (const part of ["a", "bcd", "", "e", "fghijklmnop", "q"]) reading.data(utf8(part));
    reading.end();
    expect(received.bodies).toEqual([utf8("abcdefghijklmnopq")]);
  });

  test("of an announced length is collected in a buffer of that length, once enough of it has arrived", () => {
    const { open } = aGate({ requestBytesMax: 1_000_000, bufferedBodyBytesMax: 2_000_000 });
    const { reading, received } = open(100_000);
    for (let at = 0; at < 100_000; at += 10_000) reading.data(new Uint8Array(10_000).fill(at / 10_000));
    reading.end();
    const [body] = received.bodies as [Uint8Array];
    expect(body.buffer.byteLength).toBe(BODY_SPACE_BYTES + 100_000);
    expect(Array.from({ length: 10 }, (_, index) => body[index * 10_000])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("that is large has space for a header in front of it, which no other body uses", () => {
    const { open } = aGate({ requestBytesMax: 1_000_000, bufferedBodyBytesMax: 2_000_000 });
    const [one, other] = [open(200_000), open(200_000)];
    for (const { reading } of [one, other]) {
      for (let at = 0; at < 200_000; at += 50_000) reading.data(new Uint8Array(50_000).fill(at / 50_000));
      reading.end();
    }
    const [body] = one.received.bodies as [Uint8Array];
    expect(one.received.spaces).toEqual([BODY_SPACE_BYTES]);
    expect(body.byteOffset).toBeGreaterThanOrEqual(BODY_SPACE_BYTES);
    expect(other.received.bodies[0]?.buffer).not.toBe(body.buffer);
    expect([body[0], body[50_000], body.at(-1)]).toEqual([0, 1, 3]);
  });

  test("that is small or came in one chunk has no space in front of it", () => {
    const { open } = aGate({ requestBytesMax: 1_000_000, bufferedBodyBytesMax: 2_000_000 });
    const small = open(8);
    for (const part of ["abcd", "efgh"]) small.reading.data(utf8(part));
    small.reading.end();
    const large = open(200_000);
    large.reading.data(new Uint8Array(200_000));
    large.reading.end();
    expect([...small.received.spaces, ...large.received.spaces]).toEqual([0, 0]);
  });

  test("gets no memory for what is only announced, and may be shorter or longer than that", () => {
    const { open } = aGate({ requestBytesMax: 1_000_000, bufferedBodyBytesMax: 2_000_000 });
    const short = open(1_000_000);
    short.reading.data(new Uint8Array(2_000).fill(1));
    short.reading.data(new Uint8Array(2_000).fill(2));
    short.reading.end();
    expect(short.received.bodies[0]?.length).toBe(4_000);
    expect(short.received.bodies[0]?.buffer.byteLength).toBeLessThanOrEqual(2_000 * announcedGrowthFactor);
    const long = open(10);
    for (const part of ["0123456789", "abc", "d"]) long.reading.data(utf8(part));
    long.reading.end();
    expect(long.received.bodies).toEqual([utf8("0123456789abcd")]);
  });

  test("without chunks is empty", () => {
    const { reading, received } = aGate().open();
    reading.end();
    expect(received).toMatchObject({ bodies: [new Uint8Array(0)], failures: [] });
  });

  test("may have exactly the limit, and not one byte more", () => {
    const { open } = aGate({ requestBytesMax: 4 });
    const fits = open();
    fits.reading.data(utf8("ab"));
    fits.reading.data(utf8("cd"));
    fits.reading.end();
    expect(fits.received.bodies).toEqual([utf8("abcd")]);
    const tooLarge = open();
    tooLarge.reading.data(utf8("abc"));
    tooLarge.reading.data(utf8("de"));
    tooLarge.reading.data(utf8("f"));
    tooLarge.reading.end();
    expect(tooLarge.received).toMatchObject({ bodies: [], failures: ["tooLarge"] });
  });

  test("that was cancelled makes no call", () => {
    const { reading, received } = aGate().open();
    reading.data(utf8("a"));
    reading.cancel();
    reading.data(utf8("b"));
    reading.end();
    expect(received).toMatchObject({ bodies: [], failures: [] });
  });
});

describe("the common budget", () => {
  test("refuses the body that goes beyond it, and is given back at every kind of end", () => {
    const { open } = aGate({ bufferedBodyBytesMax: 10 });
    const [ended, cancelled, refused] = [open(), open(), open()];
    ended.reading.data(utf8("12345"));
    cancelled.reading.data(utf8("12345"));
    refused.reading.data(utf8("1"));
    expect(refused.received.failures).toEqual(["overBudget"]);
    ended.reading.end();
    cancelled.reading.cancel();
    const next = open();
    next.reading.data(utf8("1234567890"));
    next.reading.end();
    expect(next.received.bodies).toHaveLength(1);
  });
});

describe("slow bodies", () => {
  test("are ended when they take longer than the limit, at any rate", () => {
    const { open, clock } = aGate({ bodyTimeoutMs: 5000 });
    const { reading, received } = open();
    reading.data(utf8("a"));
    clock.advanceBy(5000);
    expect(received.failures).toEqual([]);
    clock.advanceBy(1000);
    expect(received.failures).toEqual(["tooSlow"]);
  });

  test("are ended when the average rate is below the minimum after the grace time", () => {
    const { open, clock } = aGate({ requestBytesMax: 100_000, bufferedBodyBytesMax: 100_000 });
    const slow = open();
    const steady = open();
    for (let second = 0; second < 31; second++) {
      slow.reading.data(utf8("a"));
      steady.reading.data(new Uint8Array(300));
      clock.advanceBy(1000);
    }
    expect(slow.received.failures).toEqual(["tooSlow"]);
    expect(steady.received.failures).toEqual([]);
  });

  test("no timer is left once nothing is being read", () => {
    const { open, clock } = aGate();
    open().reading.end();
    clock.advanceBy(1000);
    expect(clock.pendingTimers).toBe(0);
  });

  test("no timer is left when the gate stops", () => {
    const { gate, open, clock } = aGate();
    open();
    gate.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
