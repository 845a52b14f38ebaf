/** Each input of the scheduler, one at a time; combinations of many are in test/. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, vqueueId } from "@perdure/base";
import type { FlowRule } from "./rule.js";
import { RuleBook } from "./rule-book.js";
import { FlowScheduler, type FlowSubject } from "./scheduler.js";
import { aRule } from "./testing/index.js";
import { bucketRows, limitRows, liveQueues, waitOf } from "./views.js";

const NOW = 1_795_000_000_000;
const RATE = { limit: 1, periodMs: 1_000, burst: 2 };

class World {
  readonly scheduler: FlowScheduler;
  nowMs = NOW;

  constructor(...rules: FlowRule[]) {
    this.scheduler = new FlowScheduler(new RuleBook(rules));
  }

  subject(name: string, limitKey?: string, priority = 3, scope = "s1", service = "S"): FlowSubject {
    return { id: name as InvocationId, service, scope, limitKey, priority };
  }
  request(
    name: string,
    limitKey?: string,
    change: { priority?: number; sinceMs?: number; woken?: boolean; service?: string } = {},
  ) {
    const subject = this.subject(name, limitKey, change.priority, "s1", change.service);
    this.scheduler.request(subject, change.sinceMs ?? this.nowMs, change.woken ?? false);
  }
  /** Returns ids in the order of their admission; they start, unless their start is left open. */
  admit(outcome: "started" | "unsettled" = "started"): string[] {
    const ids = this.scheduler.admit(this.nowMs).map(({ id }) => id as string);
    if (outcome === "started") for (const id of ids) this.scheduler.started(this.subject(id));
    return ids;
  }
  left(...names: string[]): void {
    for (const name of names) this.scheduler.left(name as InvocationId);
  }
  usage(): Record<string, number> {
    const rows = limitRows(this.scheduler, () => 0n);
    return Object.fromEntries(rows.map(({ scope, l1, l2, usage }) => [[scope, l1, l2].filter(Boolean).join("/"), usage]));
  }
}

describe("slots", () => {
  test("are given up to the limit, and again when they are released", () => {
    const world = new World(aRule("s1", { concurrency: 2 }));
    for (const name of ["a", "b", "c", "d"]) world.request(name);
    expect(world.admit()).toEqual(["a", "b"]);
    expect(world.admit()).toEqual([]);
    world.left("a");
    expect(world.admit()).toEqual(["c"]);
    world.left("b", "c");
    expect(world.admit()).toEqual(["d"]);
    world.left("d");
    expect(world.scheduler.isEmpty).toBe(true);
  });

  test("are needed on every level", () => {
    const world = new World(
      aRule("s1", { concurrency: 4 }),
      aRule("s1/*", { concurrency: 2 }),
      aRule("s1/*/*", { concurrency: 1 }),
    );
    world.request("ab1", "a/b");
    world.request("ab2", "a/b");
    world.request("ac1", "a/c");
    world.request("ad1", "a/d");
    world.request("x", "x");
    world.request("y", "y");
    expect(world.admit().sort()).toEqual(["ab1", "ac1", "x", "y"]);
    expect(world.usage()).toEqual({ s1: 4, "s1/a": 2, "s1/a/b": 1, "s1/a/c": 1, "s1/a/d": 0, "s1/x": 1, "s1/y": 1 });
    world.left("ab1");
    expect(world.admit()).toHaveLength(1);
  });

  test("count for each concrete scope by itself", () => {
    const world = new World(aRule("*", { concurrency: 1 }));
    for (const scope of ["s1", "s2", "s3"]) {
      world.scheduler.request(world.subject(`${scope}x`, undefined, 3, scope), NOW, false);
      world.scheduler.request(world.subject(`${scope}y`, undefined, 3, scope), NOW, false);
    }
    expect(world.admit().sort()).toEqual(["s1x", "s2x", "s3x"]);
  });

  test("that were taken without a request count, and so do running invocations when a rule is added", () => {
    const world = new World();
    for (const name of ["a", "b", "c"]) world.scheduler.started(world.subject(name));
    world.scheduler.setRules(new RuleBook([aRule("s1", { concurrency: 2 })]), NOW);
    world.request("d");
    expect(world.admit()).toEqual([]);
    world.left("a");
    expect(world.admit()).toEqual([]);
    world.left("b");
    expect(world.admit()).toEqual(["d"]);
  });

  test("are for all waiting invocations when the rule is removed", () => {
    const world = new World(aRule("s1", { concurrency: 1 }));
    for (const name of ["a", "b", "c"]) world.request(name);
    expect(world.admit()).toEqual(["a"]);
    world.scheduler.setRules(RuleBook.EMPTY, NOW);
    expect(world.admit()).toEqual(["b", "c"]);
  });

  test("are given up to a bound at a time, and then the rest", () => {
    const world = new World(aRule("s1", { concurrency: 1_000 }));
    for (let n = 0; n < 600; n++) world.request(`i${n}`);
    expect(world.admit()).toHaveLength(256);
    expect(world.scheduler.hasMore).toBe(true);
    expect(world.admit()).toHaveLength(256);
    expect(world.admit()).toHaveLength(88);
    expect(world.scheduler.hasMore).toBe(false);
  });
});

describe("an admission", () => {
  test("that is not used returns the slot and queues again", () => {
    const world = new World(aRule("s1", { concurrency: 1 }));
    world.request("a", undefined, { sinceMs: NOW });
    world.request("b", undefined, { sinceMs: NOW + 1 });
    expect(world.admit("unsettled")).toEqual(["a"]);
    world.scheduler.unused("a" as InvocationId);
    expect(world.admit()).toEqual(["a"]);
    world.scheduler.unused("a" as InvocationId); // The admission ended already: this changes nothing.
    expect(world.admit()).toEqual([]);
  });

  test("of an invocation that left meanwhile keeps the slot until it is started or unused", () => {
    const world = new World(aRule("s1", { concurrency: 1 }));
    world.request("a");
    world.request("b");
    expect(world.admit("unsettled")).toEqual(["a"]);
    world.left("a");
    expect(world.admit()).toEqual([]);
    world.scheduler.unused("a" as InvocationId);
    expect(world.admit()).toEqual(["b"]);
    expect(world.scheduler.entry("a" as InvocationId)).toBeUndefined();
  });

  test("of an invocation that left and returned is used by the new entry, or queues it", () => {
    for (const isUsed of [true, false]) {
      const world = new World(aRule("s1", { concurrency: 1 }));
      world.request("a");
      expect(world.admit("unsettled")).toEqual(["a"]);
      world.left("a");
      world.request("a", undefined, { woken: true });
      if (isUsed) world.scheduler.started(world.subject("a"));
      else world.scheduler.unused("a" as InvocationId);
      expect(world.usage()).toEqual({ s1: isUsed ? 1 : 0 });
      expect(world.admit()).toEqual(isUsed ? [] : ["a"]);
    }
  });
});

describe("under one limit key", () => {
  test("woken entries come before new ones, and a step of priority is a head start of a minute", () => {
    const world = new World(aRule("s1", { concurrency: 1 }));
    world.request("late and urgent", undefined, { sinceMs: NOW + 119_999, priority: 1 });
    world.request("first", undefined, { sinceMs: NOW });
    world.request("too late", undefined, { sinceMs: NOW + 120_001, priority: 1 });
    world.request("no hurry", undefined, { sinceMs: NOW - 120_002, priority: 5 });
    world.request("woken", undefined, { sinceMs: NOW + 500_000, woken: true });
    const order: string[] = [];
    for (let [next] = world.admit(); next !== undefined; [next] = world.admit()) {
      order.push(next);
      world.left(next);
    }
    expect(order).toEqual(["woken", "no hurry", "late and urgent", "first", "too late"]);
  });

  test("the default priority of a rule is for entries without one, and the deepest rule wins", () => {
    const world = new World(aRule("s1", { concurrency: 1, priority: 5 }), aRule("s1/a", { priority: 1 }));
    world.request("runs");
    world.admit();
    world.request("by scope", undefined, { sinceMs: NOW });
    world.request("named", undefined, { sinceMs: NOW + 60_001, priority: 4 });
    world.left("runs");
    expect(world.admit()).toEqual(["by scope"]);
    expect(world.scheduler.entry("named" as InvocationId)?.order).toBe(NOW + 60_001 + 180_000);
    world.request("by key", "a", { sinceMs: NOW });
    expect(world.scheduler.entry("by key" as InvocationId)?.order).toBe(NOW);
    world.scheduler.setRules(new RuleBook([aRule("s1", { concurrency: 1 })]), NOW);
    expect(world.scheduler.entry("by key" as InvocationId)?.order).toBe(NOW + 120_000);
  });
});

describe("buckets", () => {
  test("admit a burst and then one start per interval, and report when the next is due", () => {
    const world = new World(aRule("s1", { rate: RATE }));
    for (const name of ["a", "b", "c", "d"]) world.request(name);
    const [first, second] = world.scheduler.admit(NOW);
    expect(first?.buckets).toEqual([{ name: "s1", bookedUntilMicros: (NOW + 1_000) * 1_000 }]);
    expect(second?.buckets).toEqual([{ name: "s1", bookedUntilMicros: (NOW + 2_000) * 1_000 }]);
    expect(world.scheduler.nextAtMs).toBe(NOW + 1_000);
    world.nowMs = NOW + 999;
    expect(world.admit()).toEqual([]);
    world.nowMs = NOW + 1_000;
    expect(world.admit()).toEqual(["c"]);
    expect(bucketRows(world.scheduler, world.nowMs, () => 0n)).toMatchObject([{ scope: "s1", rule: "s1", available: 0 }]);
    world.nowMs = NOW + 2_000;
    expect(world.admit()).toEqual(["d"]);
  });

  test("of every level are drawn on, and the slowest decides", () => {
    const world = new World(aRule("s1", { rate: { limit: 100, periodMs: 1_000, burst: 10 } }), aRule("s1/*", { rate: RATE }));
    for (let n = 0; n < 5; n++) for (const key of ["a", "b"]) world.request(`${key}${n}`, key);
    expect(world.admit().sort()).toEqual(["a0", "a1", "b0", "b1"]);
    world.nowMs += 1_000;
    const drawn = world.scheduler.admit(world.nowMs).map(({ buckets }) => buckets.map(({ name }) => name));
    expect(drawn.sort()).toEqual([
      ["s1/a", "s1"],
      ["s1/b", "s1"],
    ]);
  });

  test("block new entries only", () => {
    const world = new World(aRule("s1", { rate: { limit: 1, periodMs: 60_000, burst: 1 } }));
    world.request("a");
    world.request("b");
    world.request("c", "key");
    expect(world.admit()).toEqual(["a"]);
    world.request("woken", "key", { woken: true });
    world.request("woken too", undefined, { woken: true });
    expect(world.admit().sort()).toEqual(["woken", "woken too"]);
    expect(world.scheduler.nextAtMs).toBe(NOW + 60_000);
  });

  test("that were stored continue from their fill, and full ones are deleted", () => {
    const world = new World(aRule("s1", { rate: RATE }));
    world.scheduler.restoreBucket({ name: "s1", bookedUntilMicros: (NOW + 2_000) * 1_000 }, NOW);
    world.scheduler.restoreBucket({ name: "s1/gone", bookedUntilMicros: (NOW + 2_000) * 1_000 }, NOW);
    world.scheduler.restoreBucket({ name: "s2", bookedUntilMicros: NOW * 1_000 }, NOW);
    expect(world.scheduler.takeUnusedBuckets()).toEqual(["s1/gone", "s2"]);
    expect(world.scheduler.takeUnusedBuckets()).toEqual([]);
    world.request("a");
    expect(world.admit()).toEqual([]);
    world.nowMs = world.scheduler.nextAtMs as number;
    expect(world.nowMs).toBe(NOW + 1_000);
    expect(world.admit()).toEqual(["a"]);
  });

  test("that were full and are drawn on again at once are not deleted", () => {
    const world = new World(aRule("s1", { rate: RATE }));
    world.scheduler.restoreBucket({ name: "s1", bookedUntilMicros: NOW * 1_000 }, NOW);
    world.request("a");
    expect(world.admit()).toEqual(["a"]);
    expect(world.scheduler.takeUnusedBuckets()).toEqual([]);
  });

  test("are deleted when they are full again and when their rule is removed, and nothing is left", () => {
    const world = new World(aRule("s1", { rate: RATE }));
    world.request("a");
    world.admit();
    world.left("a");
    expect(world.scheduler.isEmpty).toBe(false);
    world.nowMs = world.scheduler.nextAtMs as number;
    world.admit();
    expect(world.scheduler.takeUnusedBuckets()).toEqual(["s1"]);
    expect(world.scheduler.isEmpty).toBe(true);
    expect(world.scheduler.nextAtMs).toBeUndefined();
    world.request("b");
    world.admit();
    world.left("b");
    world.scheduler.setRules(RuleBook.EMPTY, world.nowMs);
    expect(world.scheduler.takeUnusedBuckets()).toEqual(["s1"]);
    expect(world.scheduler.isEmpty).toBe(true);
  });

  test("do not stay closed because a clock went back", () => {
    const world = new World(aRule("s1", { rate: RATE }));
    for (const name of ["a", "b", "c", "d"]) world.request(name);
    expect(world.admit()).toEqual(["a", "b"]);
    world.nowMs = NOW - 3_600_000;
    expect(world.admit()).toEqual([]);
    world.nowMs = world.scheduler.nextAtMs as number;
    expect(world.nowMs).toBeLessThanOrEqual(NOW - 3_600_000 + 1_000);
    expect(world.admit()).toEqual(["c"]);
  });
});

describe("queues", () => {
  const queue = vqueueId({ service: "S", scope: "s1", limitKey: "a", lockKey: undefined });

  test("that are paused hold their entries, old and new, and release them when resumed", () => {
    const world = new World(aRule("s1", { concurrency: 10 }));
    world.request("before", "a");
    world.scheduler.switchQueue(queue, true);
    world.request("after", "a");
    world.request("woken", "a", { woken: true });
    world.request("other key", "b");
    world.request("other service", "a", { service: "T" });
    expect(world.admit().sort()).toEqual(["other key", "other service"]);
    expect(liveQueues(world.scheduler).find(({ id }) => id === queue)).toMatchObject({
      isPaused: true,
      waitingCount: 3,
      head: { id: "woken", blockedOn: { kind: "paused" } },
    });
    world.left("after");
    world.scheduler.switchQueue(queue, false);
    expect(world.admit()).toEqual(["woken", "before"]);
    world.left("woken", "before");
    expect(liveQueues(world.scheduler).map(({ service, limitKey }) => [service, limitKey])).toEqual([
      ["S", "b"],
      ["T", "a"],
    ]);
  });

  test("may be paused before they have entries, and a start that meets the pause queues again", () => {
    const world = new World();
    world.request("early", "a");
    expect(world.admit("unsettled")).toEqual(["early"]);
    world.scheduler.switchQueue(queue, true);
    world.scheduler.unused("early" as InvocationId);
    world.request("a", "a");
    expect(world.admit()).toEqual([]);
    world.scheduler.switchQueue(queue, false);
    expect(world.admit()).toEqual(["early", "a"]);
  });
});

describe("a waiting entry", () => {
  test("has the limit that blocks it, level by level, and its place in the queue", () => {
    const world = new World(aRule("*", { concurrency: 1 }), aRule("s1/*", { rate: RATE, concurrency: 9 }));
    for (const name of ["a", "b", "c"]) world.request(name, "k");
    world.request("other", "l");
    expect(world.admit()).toEqual(["a"]);
    expect(waitOf(world.scheduler, "a" as InvocationId)).toBeUndefined();
    expect(waitOf(world.scheduler, "c" as InvocationId)).toEqual({
      scope: "s1",
      limitKey: "k",
      sinceMs: NOW,
      isQueuePaused: false,
      place: 2,
      levels: [
        { name: "s1", rule: "*", used: 1, limit: 1, waiting: 3, nextAtMs: undefined, isFull: true },
        { name: "s1/k", rule: "s1/*", used: 1, limit: 9, waiting: 2, nextAtMs: undefined, isFull: false },
      ],
    });
    const heads = liveQueues(world.scheduler).map(({ limitKey, head }) => [limitKey, head?.blockedOn]);
    const full = { kind: "concurrency", level: "Scope", rule: "*", limit: 1 };
    expect(heads).toEqual([
      ["k", full],
      ["l", full],
    ]);
    expect(limitRows(world.scheduler, () => 7n)).toContainEqual({
      partitionKey: 7n,
      scope: "s1",
      l1: undefined,
      l2: undefined,
      level: "Scope",
      usage: 1,
      limit: 1,
      rule: "*",
      waiterCount: 2,
    });
  });

  test("that a bucket blocks has the time at which the bucket opens", () => {
    const world = new World(aRule("s1/*", { rate: { limit: 1, periodMs: 5_000, burst: 1 } }));
    world.request("a", "k");
    world.request("b", "k");
    world.admit();
    expect(liveQueues(world.scheduler)[0]?.head?.blockedOn).toEqual({
      kind: "rate",
      level: "Level1",
      rule: "s1/*",
      untilMs: NOW + 5_000,
    });
    expect(waitOf(world.scheduler, "b" as InvocationId)?.levels).toMatchObject([{ nextAtMs: NOW + 5_000, isFull: true }]);
  });
});
