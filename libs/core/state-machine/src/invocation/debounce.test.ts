/** Bursts of debounced sends: one invocation with the newest input, whatever arrives twice, late, or while it starts. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { Invoke, TimerKey } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import { anId, endOf, invokeOf, MemoryPartition, objectTarget, outputOf, someFacts } from "../testing/index.js";
import { DEBOUNCE_SERVICE } from "./debounce.js";

const QUIET_MS = 5_000;
const MAX_MS = 12_000;

interface Send {
  readonly n: number;
  readonly createdAtMs: number;
  readonly key?: string;
  readonly objectKey?: string;
  readonly resubmission?: true;
}

/** Send number `n`, whose input is its number. */
function sendOf({ n, createdAtMs, key = "", objectKey = "k", resubmission }: Send): Invoke {
  const facts = someFacts({
    id: anId(n),
    target: objectTarget(objectKey),
    requestId: n,
    createdAtMs,
    executionTimeMs: createdAtMs + QUIET_MS,
    debounce: { key, startByMs: createdAtMs + MAX_MS, sendCount: 1 },
  });
  return { ...invokeOf(facts), input: utf8(`input ${n}`), ...(resubmission && { resubmission }) };
}

class Debouncing extends MemoryPartition {
  /** Plays a send at its time and returns the id of the invocation that it became. */
  submit(send: Send): string {
    this.nowMs = Math.max(this.nowMs, send.createdAtMs);
    const { effects } = this.play(sendOf(send));
    const reply = effects.find((effect) => effect.kind === "reply");
    expect(brokenInvariants(this.snapshot())).toEqual([]);
    if (reply?.answer.kind === "accepted") return anId(send.n);
    if (reply?.answer.kind !== "previouslyAccepted") throw new Error(`the answer is ${JSON.stringify(reply)}`);
    return reply.answer.invocation.facts.id;
  }

  fireStart(n: number): void {
    const dueAtMs = this.invocation(anId(n))?.facts.executionTimeMs ?? 0;
    this.nowMs = Math.max(this.nowMs, dueAtMs);
    const timer: TimerKey = { dueAtMs, kind: "start", id: anId(n), sequence: 0 };
    this.play({ kind: "timerFired", id: anId(n), timer });
  }

  /** Rows of debounce keys. */
  get burstRows(): number {
    let count = 0;
    for (const [name, rows] of this.states) if (name.startsWith(DEBOUNCE_SERVICE)) count += rows.size;
    return count;
  }

  input(n: number): string {
    return new TextDecoder().decode(this.entry(anId(n), 0)?.body);
  }
}

describe("a burst of debounced sends", () => {
  test("is one invocation with the newest input, which starts after the quiet time of the last send", () => {
    const partition = new Debouncing();
    expect(partition.submit({ n: 1, createdAtMs: 1_000 })).toBe(anId(1));
    expect(partition.submit({ n: 2, createdAtMs: 3_000 })).toBe(anId(1));
    expect(partition.submit({ n: 3, createdAtMs: 4_000 })).toBe(anId(1));
    expect(partition.invocations.size).toBe(1);
    expect([...partition.timers.values()]).toMatchObject([{ kind: "start", id: anId(1), dueAtMs: 9_000 }]);
    const { facts } = partition.invocation(anId(1))!;
    expect(facts).toMatchObject({ createdAtMs: 1_000, requestId: 1, debounce: { startByMs: 13_000, sendCount: 3 } });
    partition.fireStart(1);
    expect(partition.invocation(anId(1))?.status).toBe("invoked");
    expect(partition.input(1)).toBe("input 3");
  });

  test("starts at the latest when its first send said, however many follow", () => {
    const partition = new Debouncing();
    for (let n = 1; n <= 6; n++) partition.submit({ n, createdAtMs: n * 2_000 });
    expect(partition.invocation(anId(1))?.facts.executionTimeMs).toBe(2_000 + MAX_MS);
  });

  test("ends when the invocation starts: the next send begins another", () => {
    const partition = new Debouncing();
    partition.submit({ n: 1, createdAtMs: 1_000 });
    partition.fireStart(1);
    expect(partition.submit({ n: 2, createdAtMs: 6_000 })).toBe(anId(2));
    expect(partition.submit({ n: 3, createdAtMs: 6_500 })).toBe(anId(2));
    partition.fireStart(2);
    expect(partition.invocation(anId(2))?.status).toBe("inboxed"); // The first still holds the object.
    expect(partition.submit({ n: 4, createdAtMs: 12_000 })).toBe(anId(4));
    expect(partition.input(2)).toBe("input 3");
  });

  test("is separate for each key, and for each object", () => {
    const partition = new Debouncing();
    expect(partition.submit({ n: 1, createdAtMs: 1_000, key: "a" })).toBe(anId(1));
    expect(partition.submit({ n: 2, createdAtMs: 1_000, key: "b" })).toBe(anId(2));
    expect(partition.submit({ n: 3, createdAtMs: 1_000, key: "a", objectKey: "other" })).toBe(anId(3));
    expect(partition.submit({ n: 4, createdAtMs: 1_000, key: "b" })).toBe(anId(2));
  });

  test("counts the quiet time by the partition's clock when that of the sender is wrong", () => {
    const partition = new Debouncing();
    partition.nowMs = 100_000;
    partition.play(sendOf({ n: 1, createdAtMs: 1_000 }));
    expect(partition.invocation(anId(1))).toMatchObject({ status: "scheduled", facts: { executionTimeMs: 105_000 } });
  });

  test("does not store the encoded form that came with the facts, whose times are those of the sender", () => {
    const partition = new Debouncing();
    for (const n of [1, 2]) {
      const send = sendOf({ n, createdAtMs: n * 1_000 });
      partition.play({ ...send, facts: { ...send.facts, bytes: utf8("encoded") } });
      expect(partition.invocation(anId(1))?.facts.bytes).toBeUndefined();
    }
  });

  test("keeps a signal that arrived between two sends", () => {
    const partition = new Debouncing();
    partition.submit({ n: 1, createdAtMs: 1_000 });
    partition.play({ kind: "signal", id: anId(1), signal: { kind: "signalName", name: "s" }, result: { kind: "void" } });
    const signal = partition.entry(anId(1), 1);
    partition.submit({ n: 2, createdAtMs: 2_000 });
    expect(partition.input(1)).toBe("input 2");
    expect(partition.entry(anId(1), 1)).toEqual(signal);
  });

  test("is over when its invocation is cancelled, and leaves nothing behind", () => {
    const partition = new Debouncing();
    partition.submit({ n: 1, createdAtMs: 1_000 });
    partition.submit({ n: 2, createdAtMs: 2_000 });
    partition.play({ kind: "cancel", id: anId(1) });
    expect([partition.invocations.size, partition.timers.size, partition.entries.size, partition.burstRows]).toEqual([
      0, 0, 0, 0,
    ]);
    expect(partition.submit({ n: 3, createdAtMs: 3_000 })).toBe(anId(3));
  });

  test("leaves nothing behind once its result is deleted, unless a later burst has begun", () => {
    const partition = new Debouncing();
    for (const n of [1, 2]) {
      partition.submit({ n, createdAtMs: n * 10_000 });
      partition.fireStart(n);
      partition.play(outputOf(anId(n), 1, "done"));
      partition.play(endOf(anId(n), 1));
    }
    partition.play({ kind: "purge", id: anId(1) });
    expect(partition.burstRows).toBe(1);
    partition.play({ kind: "purge", id: anId(2) });
    expect(partition.burstRows).toBe(0);
  });
});

describe("a send that arrives twice", () => {
  test("is recognised while its burst waits: neither input nor start move back", () => {
    const partition = new Debouncing();
    for (const n of [1, 2, 3]) partition.submit({ n, createdAtMs: n * 1_000 });
    const before = partition.invocation(anId(1));
    expect(partition.submit({ n: 1, createdAtMs: 1_000, resubmission: true })).toBe(anId(1));
    expect(partition.submit({ n: 2, createdAtMs: 2_000, resubmission: true })).toBe(anId(1));
    expect(partition.submit({ n: 2, createdAtMs: 2_000 })).toBe(anId(1));
    expect(partition.invocation(anId(1))).toEqual(before);
    expect(partition.input(1)).toBe("input 3");
  });

  test("is recognised after its burst has started and ended: it begins no other", () => {
    const partition = new Debouncing();
    for (const n of [1, 2]) partition.submit({ n, createdAtMs: n * 1_000 });
    partition.fireStart(1);
    partition.play(outputOf(anId(1), 1, "done"));
    partition.play(endOf(anId(1), 1));
    expect(partition.submit({ n: 2, createdAtMs: 2_000, resubmission: true })).toBe(anId(1));
    expect(partition.submit({ n: 2, createdAtMs: 2_000 })).toBe(anId(1));
    expect(partition.invocations.size).toBe(1);
  });

  test("is recognised when a later burst has begun, also by an older send that arrives late", () => {
    const partition = new Debouncing();
    for (const n of [2, 3]) partition.submit({ n, createdAtMs: n * 1_000 });
    partition.fireStart(2);
    expect(partition.submit({ n: 1, createdAtMs: 1_000 })).toBe(anId(1));
    expect(partition.submit({ n: 3, createdAtMs: 3_000, resubmission: true })).toBe(anId(2));
    expect(partition.input(1)).toBe("input 1");
    expect(partition.submit({ n: 4, createdAtMs: 2_500, resubmission: true })).toBe(anId(1));
    expect(partition.input(1)).toBe("input 1");
  });

  test("has a bounded row, however many bursts there were", () => {
    const partition = new Debouncing();
    for (let n = 1; n <= 100; n++) {
      partition.submit({ n, createdAtMs: n * 20_000 });
      partition.fireStart(n);
      partition.play(outputOf(anId(n), 1, "done"));
      partition.play(endOf(anId(n), 1));
    }
    expect(partition.submit({ n: 90, createdAtMs: 90 * 20_000, resubmission: true })).toBe(anId(90));
    expect(partition.submit({ n: 101, createdAtMs: 20_000, resubmission: true })).toBe(anId(100));
    const [rows] = partition.states.values();
    const [row] = rows?.values() ?? [];
    expect(row?.length).toBeLessThan(2_048);
  });

  test("is recognised by its time when newer ones have displaced its number", () => {
    const partition = new Debouncing();
    for (let n = 1; n <= 100; n++) partition.submit({ n, createdAtMs: 1_000 + n });
    partition.fireStart(1);
    expect(partition.submit({ n: 2, createdAtMs: 1_002, resubmission: true })).toBe(anId(1));
    expect(partition.invocations.size).toBe(1);
    const [rows] = partition.states.values();
    const [row] = rows?.values() ?? [];
    expect(row?.length).toBeLessThan(1_024);
  });
});
