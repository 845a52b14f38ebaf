/** Periods of throttle keys: how many invocations begin, what the others get, and when the row of a key is deleted. */
import { describe, expect, test } from "@jest/globals";
import type { TimerKey } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import { anId, invokeOf, MemoryPartition, objectTarget, someFacts } from "../testing/index.js";
import { decodeThrottlePeriod, THROTTLE_SERVICE, THROTTLE_STATE_KEY, throttleRowId } from "./throttle.js";

const PERIOD_MS = 60_000;

interface Request {
  readonly n: number;
  readonly atMs: number;
  readonly key?: string;
  readonly objectKey?: string;
  readonly limit?: number;
  readonly periodMs?: number;
  readonly idempotencyKey?: string;
  readonly resubmission?: true;
}

class Throttling extends MemoryPartition {
  /** Returns "run", "existed", or the number of the invocation that a refused request got, with the time at which to try again. */
  request({ n, atMs, key = "", objectKey = "k", limit = 1, periodMs = PERIOD_MS, idempotencyKey, resubmission }: Request) {
    this.nowMs = atMs;
    const facts = someFacts({ id: anId(n), target: objectTarget(objectKey), requestId: n, idempotencyKey });
    const command = { ...invokeOf(facts), throttle: { key, limit, periodMs }, ...(resubmission && { resubmission }) };
    const { effects, mutations } = this.play(command);
    expect(brokenInvariants(this.snapshot())).toEqual([]);
    const reply = effects.find((effect) => effect.kind === "reply");
    if (reply?.answer.kind === "accepted") return mutations.length > 0 ? "run" : "existed";
    if (reply?.answer.kind === "previouslyAccepted") return "existed";
    if (reply?.answer.kind === "throttleKeysFull") {
      expect(mutations).toEqual([]);
      return "full";
    }
    if (reply?.answer.kind !== "throttled") throw new Error(`the answer is ${JSON.stringify(reply)}`);
    expect(mutations).toEqual([]);
    const { newestId, admittedCount, retryAtMs } = reply.answer;
    return { newest: [1, 2, 3, 4, 5, 6].find((each) => anId(each) === newestId), admittedCount, retryAtMs };
  }

  get keyCount(): number {
    return this.snapshot().throttleKeyCounts?.[0] ?? 0;
  }

  rowOf(key: string, objectKey = "k") {
    const row = this.state(THROTTLE_SERVICE, throttleRowId(objectTarget(objectKey), key), THROTTLE_STATE_KEY);
    return row === undefined ? undefined : decodeThrottlePeriod(row);
  }

  get periodTimers(): readonly TimerKey[] {
    return [...this.timers.values()].filter(({ kind }) => kind === "expireState");
  }

  fire(timer: TimerKey): void {
    this.nowMs = timer.dueAtMs;
    this.play({ kind: "timerFired", id: timer.id, timer });
    expect(brokenInvariants(this.snapshot())).toEqual([]);
  }
}

describe("a throttle key", () => {
  test("runs the first request at once, refuses the others of the period with its id, and begins a period with the next", () => {
    const partition = new Throttling();
    expect(partition.request({ n: 1, atMs: 1_000 })).toBe("run");
    const refused = { newest: 1, admittedCount: 1, retryAtMs: 61_000 };
    expect(partition.request({ n: 2, atMs: 2_000 })).toEqual(refused);
    expect(partition.request({ n: 3, atMs: 60_999 })).toEqual(refused);
    expect(partition.request({ n: 4, atMs: 61_000 })).toBe("run");
    expect(partition.request({ n: 5, atMs: 100_000 })).toEqual({ newest: 4, admittedCount: 1, retryAtMs: 121_000 });
    expect([...partition.invocations.keys()]).toEqual([anId(1), anId(4)]);
  });

  test("runs as many as its limit", () => {
    const partition = new Throttling();
    const results = [1, 2, 3, 4].map((n) => partition.request({ n, atMs: n * 1_000, limit: 3 }));
    expect(results).toEqual(["run", "run", "run", { newest: 3, admittedCount: 3, retryAtMs: 61_000 }]);
  });

  test("is one of many: other keys, and other objects, have periods of their own", () => {
    const partition = new Throttling();
    expect(partition.request({ n: 1, atMs: 1_000 })).toBe("run");
    expect(partition.request({ n: 2, atMs: 1_000, key: "b" })).toBe("run");
    expect(partition.request({ n: 3, atMs: 1_000, objectKey: "line\nbreak" })).toBe("run");
    expect(partition.rowOf("", "line\nbreak")).toMatchObject({ objectKey: "line\nbreak", throttleKey: "", newestId: anId(3) });
  });

  test("does not count a request that is submitted again, nor one with the idempotency key of an invocation", () => {
    const partition = new Throttling();
    expect(partition.request({ n: 1, atMs: 1_000, idempotencyKey: "once", limit: 2 })).toBe("run");
    expect(partition.request({ n: 1, atMs: 2_000, idempotencyKey: "once", limit: 2 })).toBe("existed");
    expect(partition.request({ n: 2, atMs: 3_000, limit: 2 })).toBe("run");
    expect(partition.request({ n: 2, atMs: 4_000, limit: 2, resubmission: true })).toBe("existed");
    expect(partition.rowOf("")?.admittedCount).toBe(2);
    expect(partition.request({ n: 1, atMs: 99_000, idempotencyKey: "once" })).toBe("existed");
    expect(partition.rowOf("")).toMatchObject({ admittedCount: 2, beganAtMs: 1_000 });
  });

  test("has a changed rule at once", () => {
    const partition = new Throttling();
    expect(partition.request({ n: 1, atMs: 1_000 })).toBe("run");
    expect(partition.request({ n: 2, atMs: 2_000, limit: 2, periodMs: 100_000 })).toBe("run");
    expect(partition.periodTimers.map(({ dueAtMs }) => dueAtMs)).toEqual([101_000]);
    expect(partition.request({ n: 3, atMs: 70_000, limit: 2, periodMs: 100_000 })).toMatchObject({
      newest: 2,
      retryAtMs: 101_000,
    });
    expect(partition.request({ n: 4, atMs: 71_000, limit: 2, periodMs: 10_000 })).toBe("run");
    expect(partition.periodTimers.map(({ dueAtMs }) => dueAtMs)).toEqual([81_000]);
  });

  test("has a row until the end of its period, which a timer deletes once", () => {
    const partition = new Throttling();
    partition.request({ n: 1, atMs: 1_000 });
    const [timer] = partition.periodTimers;
    expect(timer).toMatchObject({ dueAtMs: 61_000, sequence: 1 });
    // The next period begins before the timer of the last one has fired.
    partition.request({ n: 2, atMs: 61_000 });
    expect(partition.periodTimers.map(({ dueAtMs }) => dueAtMs)).toEqual([121_000]);
    partition.fire(timer!);
    expect(partition.rowOf("")).toMatchObject({ newestId: anId(2) });
    const [next] = partition.periodTimers;
    partition.fire(next!);
    expect([partition.rowOf(""), partition.periodTimers]).toEqual([undefined, []]);
    partition.fire(next!);
    expect(partition.request({ n: 3, atMs: 121_001 })).toBe("run");
  });
});

describe("a partition with as many throttle keys as it may have", () => {
  const KEYS_MAX = 50;

  test("stores no further key however many a client invents, and admits requests with the keys that it has", () => {
    const partition = new Throttling();
    partition.throttleKeysMax = KEYS_MAX;
    const results = Array.from({ length: 1_000 }, (_, n) => partition.request({ n, atMs: 1_000 + n, key: `key-${n}`, limit: 2 }));
    expect(results.map((result) => result === "run")).toEqual(Array.from({ length: 1_000 }, (_, n) => n < KEYS_MAX));
    expect(new Set(results.slice(KEYS_MAX))).toEqual(new Set(["full"]));
    expect([partition.keyCount, partition.periodTimers.length, partition.invocations.size]).toEqual([
      KEYS_MAX,
      KEYS_MAX,
      KEYS_MAX,
    ]);
    expect(partition.request({ n: 2_000, atMs: 3_000, key: "key-7", limit: 2 })).toBe("run");
    expect(partition.request({ n: 2_001, atMs: 3_000, key: "key-7", limit: 2 })).toMatchObject({ admittedCount: 2 });
  });

  test("has space for another when the period of a key ends, and counts no key twice whose period begins anew", () => {
    const partition = new Throttling();
    partition.throttleKeysMax = 2;
    expect(partition.request({ n: 1, atMs: 1_000, key: "a" })).toBe("run");
    expect(partition.request({ n: 2, atMs: 2_000, key: "b" })).toBe("run");
    expect(partition.request({ n: 3, atMs: 3_000, key: "c" })).toBe("full");
    // The period of "a" is over and its timer has not fired: it begins again in its row.
    expect(partition.request({ n: 4, atMs: 61_500, key: "a" })).toBe("run");
    expect(partition.keyCount).toBe(2);
    partition.fire(partition.periodTimers.find(({ dueAtMs }) => dueAtMs === 62_000)!);
    expect(partition.keyCount).toBe(1);
    expect(partition.request({ n: 5, atMs: 62_001, key: "c" })).toBe("run");
    for (const timer of partition.periodTimers) partition.fire(timer);
    expect([partition.keyCount, [...partition.states.values()].every((rows) => rows.size === 0)]).toEqual([0, true]);
  });
});
