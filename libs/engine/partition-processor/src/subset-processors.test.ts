/** Processors that each lead some partitions of one store, as the threads of a process do. */
import { describe, expect, test } from "@jest/globals";
import {
  type InvocationId,
  newInvocationId,
  PartitionSubset,
  partitionOf,
  partitionsOfThread,
  silentLogger,
  systemRandom,
} from "@perdure/base";
import type { Courier, Delivery, Partitions } from "@perdure/control";
import type { FlowRule } from "@perdure/flow-control";
import type { Invocation } from "@perdure/state-machine";
import { anId, callOf, endOf, invokeOf, outputOf, plainTarget, scopedTarget, someFacts } from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue, type PartitionStore } from "@perdure/storage";
import { VirtualClock } from "@perdure/testkit";
import { RoutedPartitions } from "./callers/routed-partitions.js";
import { NO_RULES, type RuleSource } from "./flow/flow-control.js";
import { OFFER_AGAIN_MS } from "./limits.js";
import { LoopbackPeers } from "./outbox/loopback-peers.js";
import type { OutboxPeers } from "./outbox/outbox.js";
import { SubsetPeers } from "./outbox/subset-peers.js";
import { Processor } from "./processor.js";
import { ScriptedInvoker } from "./testing/scripted-invoker.js";

const PARTITIONS = 4;
const IGNORE = (): void => undefined;

const flushTasks = async (): Promise<void> => {
  for (let i = 0; i < 60; i++) await new Promise((resolve) => setImmediate(resolve));
};

interface ShardPorts {
  readonly store: PartitionStore;
  readonly clock: VirtualClock;
  readonly peers: OutboxPeers;
  readonly rules?: RuleSource;
}

function startProcessor({ store, clock, peers, rules = NO_RULES }: ShardPorts, partitions: readonly number[]) {
  return Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (host) => new ScriptedInvoker(host),
      rules,
      peers,
      onFenced: (partition) => {
        throw new Error(`partition ${partition} was fenced`);
      },
      onFatal: (error) => {
        throw error;
      },
    },
    { partitions, partitionCount: PARTITIONS, cleanupIntervalMs: 3_600_000 },
  );
}

/** Two processors over one store; messages between them need a round of the event loop. */
class TwoShards {
  readonly kv: MemoryKeyValue;
  readonly clock: VirtualClock;
  readonly processors: (Processor<ScriptedInvoker> | undefined)[] = [];
  /** Sequences of the messages that arrived at the other shard. */
  readonly arrived: number[] = [];

  constructor(kv = new MemoryKeyValue(), clock = new VirtualClock()) {
    this.kv = kv;
    this.clock = clock;
  }

  async start(...shards: readonly number[]): Promise<this> {
    for (const shard of shards) {
      const own = partitionsOfThread(shard, 2, PARTITIONS);
      const peers = new SubsetPeers(own, this.#courierTo(1 - shard), this.clock);
      const processor = await startProcessor({ store: new KvPartitionStore(this.kv), clock: this.clock, peers }, own.partitions);
      peers.connect(processor);
      this.processors[shard] = processor;
    }
    await flushTasks();
    return this;
  }

  #courierTo(shard: number): Courier {
    return {
      deliver: ({ command, producer, seq, after }: Delivery, delivered, undelivered) =>
        void setImmediate(() => {
          const accepted = this.processors[shard]?.deliver(command, producer, seq, delivered, after, undelivered) ?? false;
          if (accepted) this.arrived.push(seq);
          else undelivered();
        }),
    };
  }

  /** The processor that leads the partition of `id`. */
  of(id: InvocationId): Processor<ScriptedInvoker> {
    const processor = this.processors.find((each) => each?.leads(id));
    if (processor === undefined) throw new Error("its partition is not led");
    return processor;
  }

  submit(id: InvocationId): void {
    this.of(id).submit(invokeOf(someFacts({ id, target: plainTarget, requestId: 1 })), undefined);
  }

  /** Submits a call by a handler. */
  call(caller: InvocationId, callee: InvocationId, completionId: number): void {
    const { host } = this.of(caller).invoker;
    host.submit(callOf(caller, 1, someFacts({ id: callee, target: plainTarget }), completionId, completionId + 1));
  }

  outbox(): Promise<readonly unknown[]> {
    const store = new KvPartitionStore(this.kv);
    return Promise.all([0, 1, 2, 3].map((partition) => store.outbox(partition, -1, 10))).then((pages) => pages.flat());
  }
}

/** The n-th id in this partition. */
const idIn = (partition: number, n: number): InvocationId => anId(n, (partition * 256) / PARTITIONS);

describe("processors that lead some partitions", () => {
  test("a call to a partition of the other one runs there, and its result comes back", async () => {
    const shards = await new TwoShards().start(0, 1);
    const [caller, callee] = [idIn(0, 1), idIn(1, 2)];
    shards.submit(caller);
    await flushTasks();
    shards.call(caller, callee, 1);
    await flushTasks();
    const other = shards.of(callee).invoker;
    expect(other.runs(callee)).toHaveLength(1);
    other.host.submit(outputOf(callee, 1, "out"));
    other.host.submit(endOf(callee, 1));
    await flushTasks();
    const stored = shards.of(caller).invoker.effects.filter(({ kind }) => kind === "entryStored");
    expect(stored).toHaveLength(3); // The call, the id of the callee, and its result.
    expect(await shards.outbox()).toEqual([]);
    expect(shards.arrived).toHaveLength(2);
  });

  test("a call to another partition of the same one is applied at once, without a message", async () => {
    const shards = await new TwoShards().start(0, 1);
    const [caller, callee] = [idIn(0, 1), idIn(2, 2)];
    shards.submit(caller);
    await flushTasks();
    shards.call(caller, callee, 1);
    await flushTasks();
    expect(shards.of(caller).invoker.runs(callee)).toHaveLength(1);
    expect(shards.arrived).toEqual([]);
  });

  test("messages wait for a processor that does not work yet, and arrive once and in order", async () => {
    const shards = await new TwoShards().start(0);
    const caller = idIn(0, 1);
    shards.submit(caller);
    await flushTasks();
    const callees = Array.from({ length: 20 }, (_, n) => idIn(n % 2 === 0 ? 1 : 3, 2 + n));
    for (const [n, callee] of callees.entries()) shards.call(caller, callee, 1 + 2 * n);
    await flushTasks();
    expect(await shards.outbox()).not.toEqual([]);
    await shards.start(1);
    shards.clock.advanceBy(OFFER_AGAIN_MS);
    await flushTasks();
    const effects = shards.processors[1]?.invoker.effects ?? [];
    const started = effects.flatMap((effect) => (effect.kind === "startRun" ? [effect.invocation.facts.id] : []));
    for (const partition of [1, 3]) {
      const isInPartition = (id: InvocationId): boolean => partitionOf(id, PARTITIONS) === partition;
      expect(started.filter(isInPartition)).toEqual(callees.filter(isInPartition));
    }
    expect(await shards.outbox()).toEqual([]);
  });

  test("deliver what a process stored in which one processor led all partitions, and the other way round", async () => {
    const kv = new MemoryKeyValue();
    const clock = new VirtualClock();
    await putInOutbox(kv, 0, [idIn(1, 1), idIn(2, 2)]);
    await putInOutbox(kv, 1, [idIn(0, 3), idIn(3, 4)]);
    const shards = await new TwoShards(kv, clock).start(0, 1);
    expect(shards.arrived).toHaveLength(2); // The others are for partitions that their own processor leads.
    expect(await shards.outbox()).toEqual([]);
    for (const processor of shards.processors) await processor?.[Symbol.asyncDispose]();

    await putInOutbox(kv, 2, [idIn(1, 5)]);
    const peers = new LoopbackPeers();
    const all = await startProcessor({ store: new KvPartitionStore(kv), clock, peers }, [0, 1, 2, 3]);
    peers.connect(all);
    await flushTasks();
    expect(await shards.outbox()).toEqual([]);
    const runs = [1, 2, 3, 4, 5].map((n) => all.invoker.runs(idIn([1, 2, 0, 3, 1][n - 1] ?? 0, n)).length);
    expect(runs).toEqual([1, 1, 1, 1, 1]);
  });

  test.each(["another message is acknowledged", "the rules change"])(
    "admit no invocation while a partition is being read, though %s meanwhile",
    async (event) => {
      const kv = new MemoryKeyValue();
      const clock = new VirtualClock();
      const rules = new ChangingRules();
      const target = scopedTarget("s1");
      const [running, waiting] = [newInvocationId(target, 1, systemRandom), newInvocationId(target, 1, systemRandom)];
      const scope = partitionOf(running, PARTITIONS);
      const peers = new LoopbackPeers();
      const before = await startProcessor({ store: new KvPartitionStore(kv), clock, peers, rules }, [scope]);
      for (const id of [running, waiting]) before.submit(invokeOf(someFacts({ id, target, requestId: 1 })), undefined);
      await flushTasks();
      expect([before.invoker.runs(running), before.invoker.runs(waiting)].map(({ length }) => length)).toEqual([1, 0]);
      await before[Symbol.asyncDispose]();

      const other = (scope + 1) % PARTITIONS;
      const own = new PartitionSubset([scope, other], PARTITIONS);
      const subset = new SubsetPeers(own, { deliver: (_, delivered) => void setImmediate(delivered) }, clock);
      if (event === "another message is acknowledged") await putInOutbox(kv, other, [idIn((scope + 2) % PARTITIONS, 1)]);
      const starting = startProcessor({ store: new SlowStore(kv), clock, peers: subset, rules }, [other, scope]);
      if (event === "the rules change") setImmediate(() => rules.change());
      const after = await starting;
      subset.connect(after);
      await flushTasks();
      expect([after.invoker.runs(running), after.invoker.runs(waiting)].map(({ length }) => length)).toEqual([1, 0]);
    },
  );
});

/** Two books with the same rule, one after the other. */
class ChangingRules implements RuleSource {
  #rules: readonly FlowRule[] = [ONE_AT_A_TIME];
  #listener = IGNORE;

  rules(): readonly FlowRule[] {
    return this.#rules;
  }

  onChange(listener: () => void): () => void {
    this.#listener = listener;
    return IGNORE;
  }

  change(): void {
    this.#rules = [ONE_AT_A_TIME];
    this.#listener();
  }
}

const ONE_AT_A_TIME: FlowRule = {
  pattern: "s1",
  concurrency: 1,
  rate: undefined,
  weight: 1,
  priority: undefined,
  disabled: false,
};

/** Pauses after each invocation that a new leader reads; those that run come last. */
class SlowStore extends KvPartitionStore {
  override async *recoverable(...args: Parameters<KvPartitionStore["recoverable"]>): AsyncIterable<Invocation> {
    const all: Invocation[] = [];
    for await (const invocation of super.recoverable(...args)) all.push(invocation);
    for (const invocation of all.sort((a, b) => Number(a.status === "invoked") - Number(b.status === "invoked"))) {
      yield invocation;
      await flushTasks();
    }
  }
}

/** Stores messages of a partition that was led and is no longer: each begins an invocation. */
async function putInOutbox(kv: MemoryKeyValue, partition: number, ids: readonly InvocationId[]): Promise<void> {
  const store = new KvPartitionStore(kv);
  const epoch = await store.claim(partition);
  const mutations = ids.map((id, n) => {
    const command = invokeOf(someFacts({ id, target: plainTarget, requestId: 1 }));
    return { kind: "putOutbox", message: { seq: epoch * 2 ** 32 + n, command } } as const;
  });
  await store.commit([{ partition, epoch, mutations }]);
}

test("requests go to the local partitions or to the remote ones, by their id", async () => {
  const calls: string[] = [];
  const named = (name: string): Partitions => ({
    invoke: (command) => ({ detach: () => calls.push(`${name} ${command.kind}`) }),
    attach: () => ({ detach: () => calls.push(`${name} attach`) }),
    async output() {
      calls.push(`${name} output`);
      return { kind: "pending" };
    },
    async describe() {
      calls.push(`${name} describe`);
      return undefined;
    },
    async submit({ kind }) {
      calls.push(`${name} ${kind}`);
      return { kind: "done" };
    },
  });
  const routed = new RoutedPartitions(new PartitionSubset([0, 2], PARTITIONS), named("local"), named("remote"));
  const observer = { submitted: IGNORE, completed: IGNORE, notFound: IGNORE, unavailable: IGNORE };
  for (const id of [idIn(2, 1), idIn(3, 1)]) {
    routed.invoke(invokeOf(someFacts({ id })), true, observer).detach();
    routed.attach(id, observer).detach();
    await routed.output(id);
    await routed.describe(id);
    await routed.submit({ kind: "kill", id });
  }
  const kinds = ["invoke", "attach", "output", "describe", "kill"];
  expect(calls).toEqual([...kinds.map((kind) => `local ${kind}`), ...kinds.map((kind) => `remote ${kind}`)]);
});
