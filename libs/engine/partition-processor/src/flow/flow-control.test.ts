/** Scopes with rules on a real processor: when invocations start, what a new leader recovers, and the rows of introspection. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, silentLogger, utf8, vqueueId } from "@perdure/base";
import type { FlowRows, FlowRule } from "@perdure/flow-control";
import type { InvokerHost } from "@perdure/invoker";
import { type InvocationFacts, type PartitionCommand, queueOfLock, routeOfQueue, type Target } from "@perdure/state-machine";
import { endOf, invokeOf, objectTarget, outputOf, scopedTarget, someFacts, suspendOf } from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { LocalPartitions } from "../callers/local-partitions.js";
import { LoopbackPeers } from "../outbox/loopback-peers.js";
import { Processor } from "../processor.js";
import { idleInvoker } from "../testing/idle-invoker.js";
import type { RuleSource } from "./flow-control.js";

const scoped = scopedTarget("s1");
const object = objectTarget("k");
const RATE = { limit: 1, periodMs: 1_000, burst: 2 };

const rule = (pattern: string, change: Partial<FlowRule>): FlowRule => ({
  pattern,
  concurrency: undefined,
  rate: undefined,
  weight: 1,
  priority: undefined,
  disabled: false,
  ...change,
});

class Rules implements RuleSource {
  #rules: readonly FlowRule[];
  readonly #listeners = new Set<() => void>();
  constructor(...rules: FlowRule[]) {
    this.#rules = rules;
  }
  rules(): readonly FlowRule[] {
    return this.#rules;
  }
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  change(...rules: FlowRule[]): void {
    this.#rules = rules;
    for (const listener of this.#listeners) listener();
  }
  get listenerCount(): number {
    return this.#listeners.size;
  }
}

/** One leader; `running` are the invocations that its invoker must run and has no order to stop. */
class World {
  readonly running = new Map<InvocationId, number>();
  readonly #random: SeededRandom;
  #processor: Processor | undefined;
  #host: InvokerHost | undefined;
  readonly kv: MemoryKeyValue;
  readonly clock: VirtualClock;
  readonly rules: Rules;

  constructor(rules: Rules, kv = new MemoryKeyValue(), clock = new VirtualClock(), random = new SeededRandom(5)) {
    this.#random = random;
    this.rules = rules;
    this.kv = kv;
    this.clock = clock;
  }

  async start(isSuspended = false): Promise<this> {
    const peers = new LoopbackPeers();
    const invoker = idleInvoker({
      startRun: ({ invocation }) => void this.running.set(invocation.facts.id, invocation.run),
      stopRun: ({ id }) => void this.running.delete(id),
    });
    this.#processor = await Processor.start(
      {
        store: new KvPartitionStore(this.kv),
        clock: this.clock,
        logger: silentLogger,
        soon: (task) => setImmediate(task),
        invoker: (host) => {
          this.#host = host;
          return invoker;
        },
        rules: this.rules,
        peers,
        onFenced: () => undefined,
        onFatal: (error) => {
          throw error;
        },
      },
      { partitions: [0, 1], partitionCount: 2, cleanupIntervalMs: 3_600_000, isSuspended },
    );
    peers.connect(this.#processor);
    await flushTasks();
    return this;
  }

  get processor(): Processor {
    return this.#processor as Processor;
  }

  /** Submits an invocation; they wait in the order of the calls. */
  invoke(target: Target = scoped, change: Partial<InvocationFacts> = {}): InvocationId {
    const id = newInvocationId(target, this.clock.nowMs(), this.#random);
    const facts = someFacts({
      id,
      target,
      createdAtMs: this.clock.nowMs(),
      completionRetentionMs: 0,
      journalRetentionMs: 0,
      ...change,
    });
    this.processor.submit(invokeOf(facts), undefined);
    return id;
  }

  submit(command: PartitionCommand): Promise<unknown> {
    return new LocalPartitions(this.processor).submit(command as Exclude<PartitionCommand, { kind: "invoke" }>);
  }

  /** The handler returns. */
  async end(...ids: (InvocationId | undefined)[]): Promise<void> {
    for (const id of ids) {
      const run = id === undefined ? undefined : this.running.get(id);
      if (id === undefined || run === undefined) throw new Error("it does not run");
      this.#host?.submit(outputOf(id, run, "out"));
      this.#host?.submit(endOf(id, run));
    }
    await flushTasks();
  }

  async suspend(id: InvocationId): Promise<void> {
    const awaiting = { combinator: "firstCompleted", completions: [], signalIndexes: [17], signalNames: [], nested: [] } as const;
    this.#host?.submit(suspendOf(id, this.running.get(id) ?? 0, [], { awaiting }));
    await flushTasks();
  }

  async advance(ms: number): Promise<void> {
    this.clock.advanceBy(ms);
    await flushTasks();
  }

  /** Another process takes over. */
  async restart(isSuspended = false): Promise<World> {
    await this.processor[Symbol.asyncDispose]();
    return new World(this.rules, this.kv, this.clock, this.#random).start(isSuspended);
  }

  async rows(): Promise<FlowRows> {
    const all = [await this.processor.flowRows(0), await this.processor.flowRows(1)];
    return {
      queues: all.flatMap((rows) => rows?.queues ?? []),
      entries: all.flatMap((rows) => rows?.entries ?? []),
      limits: all.flatMap((rows) => rows?.limits ?? []),
      buckets: all.flatMap((rows) => rows?.buckets ?? []),
    };
  }
}

const flushTasks = async (): Promise<void> => {
  for (let n = 0; n < 12; n++) await new Promise((resolve) => setImmediate(resolve));
};
const runningOf = (world: World, ids: readonly InvocationId[]): boolean[] => ids.map((id) => world.running.has(id));

describe("a concurrency limit", () => {
  test("holds, starts the next when one ends, suspends or is killed, and woken invocations come before new ones", async () => {
    const world = await new World(new Rules(rule("s1", { concurrency: 2 }))).start();
    const ids = [1, 2, 3, 4, 5, 6].map(() => world.invoke());
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([true, true, false, false, false, false]);
    await world.end(ids[0]);
    expect(runningOf(world, ids)).toEqual([false, true, true, false, false, false]);
    await world.suspend(ids[1] as InvocationId);
    expect(runningOf(world, ids)).toEqual([false, false, true, true, false, false]);
    const signal = { kind: "signalIndex", index: 17 } as const;
    await world.submit({ kind: "signal", id: ids[1] as InvocationId, signal, result: { kind: "void" } });
    await flushTasks();
    expect(await new LocalPartitions(world.processor).describe(ids[1] as InvocationId)).toMatchObject({ status: "ready" });
    await world.submit({ kind: "kill", id: ids[3] as InvocationId });
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([false, true, true, false, false, false]);
    await world.submit({ kind: "cancel", id: ids[4] as InvocationId });
    await world.end(ids[1], ids[2]);
    expect(runningOf(world, ids)).toEqual([false, false, false, false, false, true]);
    await world.processor[Symbol.asyncDispose]();
    expect(world.rules.listenerCount).toBe(0);
  });

  test("a suspended leader replies and starts no invocation, neither waiting nor running ones; the next one starts both", async () => {
    const world = await new World(new Rules(rule("s1", { concurrency: 1 }))).start();
    const ids = [world.invoke(), world.invoke()] as const;
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([true, false]);
    world.rules.change(rule("s1", { concurrency: 2 }));
    const suspended = await world.restart(true);
    for (const id of ids) expect(await new LocalPartitions(suspended.processor).describe(id)).toMatchObject({ facts: { id } });
    await suspended.advance(10_000);
    suspended.rules.change(rule("s1", { concurrency: 3 }));
    await flushTasks();
    expect(suspended.running.size).toBe(0);
    const next = await suspended.restart();
    expect(runningOf(next, ids)).toEqual([true, true]);
    await next.processor[Symbol.asyncDispose]();
  });

  test("holds for a new leader: running invocations count, waiting ones wait", async () => {
    const world = await new World(new Rules(rule("s1", { concurrency: 2 }))).start();
    const ids = [1, 2, 3, 4].map(() => world.invoke());
    await flushTasks();
    const next = await world.restart();
    expect(runningOf(next, ids)).toEqual([true, true, false, false]);
    ids.push(next.invoke());
    await flushTasks();
    expect(runningOf(next, ids)).toEqual([true, true, false, false, false]);
    await next.end(ids[0]);
    expect(runningOf(next, ids)).toEqual([false, true, true, false, false]);
    await next.processor[Symbol.asyncDispose]();
  });

  test("that is added counts running invocations; one that is removed lets all start", async () => {
    const world = await new World(new Rules()).start();
    const ids = [1, 2, 3].map(() => world.invoke());
    await flushTasks();
    world.rules.change(rule("*", { concurrency: 2 }));
    ids.push(world.invoke(), world.invoke());
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([true, true, true, false, false]);
    await world.end(ids[0]);
    expect(runningOf(world, ids)).toEqual([false, true, true, false, false]);
    await world.end(ids[1]);
    expect(runningOf(world, ids)).toEqual([false, false, true, true, false]);
    world.rules.change();
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([false, false, true, true, true]);
    await world.processor[Symbol.asyncDispose]();
  });

  test("that allows hundreds to start at once admits them page by page", async () => {
    const world = await new World(new Rules(rule("s1", { concurrency: 1 }))).start();
    for (let n = 0; n < 700; n++) world.invoke();
    await flushTasks();
    expect(world.running.size).toBe(1);
    world.rules.change(rule("s1", { concurrency: 650 }));
    await flushTasks();
    await flushTasks();
    expect(world.running.size).toBe(650);
    await world.processor[Symbol.asyncDispose]();
  });
});

describe("a rate", () => {
  test("admits a burst and then one start per interval, also across leaders, and is deleted when its bucket is full", async () => {
    const world = await new World(new Rules(rule("s1", { rate: RATE }))).start();
    const ids = [1, 2, 3, 4, 5].map(() => world.invoke());
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([true, true, false, false, false]);
    await world.advance(999);
    expect(world.running.size).toBe(2);
    await world.advance(1);
    expect(runningOf(world, ids)).toEqual([true, true, true, false, false]);
    const next = await world.restart();
    expect(runningOf(next, ids)).toEqual([true, true, true, false, false]);
    await next.advance(1_000);
    expect(next.running.size).toBe(4);
    await next.advance(1_000);
    expect(next.running.size).toBe(5);
    expect((await next.rows()).buckets).toMatchObject([{ scope: "s1", available: 0, rate: RATE }]);
    await next.advance(120_000);
    await next.end(...ids);
    expect([...next.kv.snapshot().keys()].filter((key) => key[2] === "f")).toEqual([]);
    await next.processor[Symbol.asyncDispose]();
  });
});

describe("a paused queue", () => {
  test("of a scope starts no invocation until it is resumed, by whichever leader", async () => {
    const world = await new World(new Rules()).start();
    const queue = vqueueId({ service: "S", scope: "s1", limitKey: "a", lockKey: undefined });
    expect(await world.submit({ kind: "pauseQueue", id: routeOfQueue(queue), queue })).toEqual({ kind: "done" });
    const ids = [world.invoke(scoped, { limitKey: "a" }), world.invoke(scoped, { limitKey: "b" })];
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([false, true]);
    const next = await world.restart();
    ids.push(next.invoke(scoped, { limitKey: "a" }));
    await flushTasks();
    expect(runningOf(next, ids)).toEqual([false, true, false]);
    expect(next.processor.flowWait(ids[2] as InvocationId)).toMatchObject({ isQueuePaused: true, place: 2, limitKey: "a" });
    await next.submit({ kind: "resumeQueue", id: routeOfQueue(queue), queue });
    await flushTasks();
    expect(runningOf(next, ids)).toEqual([true, true, true]);
    await next.processor[Symbol.asyncDispose]();
  });
});

describe("rows", () => {
  test("show queues of scopes with what blocks their head, entries, and counters", async () => {
    const world = await new World(new Rules(rule("s1", { concurrency: 1 }))).start();
    const ids = [world.invoke(scoped, { limitKey: "a" })];
    await flushTasks();
    ids.push(world.invoke(scoped, { limitKey: "a", priority: 2 }));
    await flushTasks();
    const { queues, entries, limits } = await world.rows();
    expect(queues).toMatchObject([
      {
        id: vqueueId({ service: "S", scope: "s1", limitKey: "a", lockKey: undefined }),
        service: "S",
        scope: "s1",
        limitKey: "a",
        lockName: undefined,
        paused: false,
        inboxCount: 1,
        runningCount: 1,
        head: { entryId: ids[1], blockedOn: { kind: "concurrency", level: "Scope", rule: "s1", limit: 1 } },
      },
    ]);
    expect(entries.map(({ entryId, stage, status, priority }) => [entryId, stage, status, priority]).sort()).toEqual(
      [
        [ids[0], "running", "started", 3],
        [ids[1], "inbox", "new", 2],
      ].sort(),
    );
    expect(limits.map(({ level, usage, limit, waiterCount }) => [level, usage, limit, waiterCount])).toEqual([
      ["Scope", 1, 1, 1],
      ["Level1", 1, undefined, 1],
    ]);
    await world.end(ids[0]);
    await world.end(ids[1]);
    expect(await world.rows()).toEqual({ queues: [], entries: [], limits: [], buckets: [] });
    await world.processor[Symbol.asyncDispose]();
  });

  test("show the queue of an object, and that its head waits for the lock or for the end of a pause", async () => {
    const world = await new World(new Rules()).start();
    const ids = [world.invoke(object), world.invoke(object)];
    await flushTasks();
    const queue = queueOfLock("O", "k");
    const shown = { id: queue, service: "O", lockName: "O/k", scope: undefined, runningCount: 1, inboxCount: 1 };
    const blockedOn = { kind: "lock", lockName: "O/k", holder: ids[0] };
    expect((await world.rows()).queues).toMatchObject([{ ...shown, paused: false, head: { entryId: ids[1], blockedOn } }]);
    const entries = [{ key: "x", value: utf8("1") }];
    await world.submit({
      kind: "mutateState",
      id: routeOfQueue(queue),
      service: "O",
      key: "k",
      exclusive: true,
      expectedVersion: undefined,
      entries,
    });
    await world.submit({ kind: "pauseQueue", id: routeOfQueue(queue), queue });
    await world.end(ids[0]);
    expect(runningOf(world, ids)).toEqual([false, false]);
    const { queues, entries: rows } = await world.rows();
    expect(queues).toMatchObject([{ paused: true, inboxCount: 2, head: { entryId: ids[1], blockedOn: { kind: "paused" } } }]);
    expect(rows.map(({ entryKind, hasLock }) => [entryKind, hasLock]).sort()).toEqual([
      ["invocation", false],
      ["state-mutation", false],
    ]);
    await world.submit({ kind: "resumeQueue", id: routeOfQueue(queue), queue });
    await flushTasks();
    expect(runningOf(world, ids)).toEqual([false, true]);
    await world.processor[Symbol.asyncDispose]();
    expect(await world.processor.flowRows(0)).toBeUndefined();
  });
});
