/** The work of a turn, counted in operations and not in time. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, partitionOf, silentLogger } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import { type InvocationFacts, type Invoke, LONG_JOURNAL_ENTRIES, type StartRun } from "@perdure/state-machine";
import { callOf, invokeOf, plainTarget, someFacts } from "@perdure/state-machine/testing";
import { type CommitOutcome, invocationRowKeys, KvPartitionStore, MemoryKeyValue, type PartitionBatch } from "@perdure/storage";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { LocalPartitions } from "../callers/local-partitions.js";
import { NO_RULES } from "../flow/flow-control.js";
import { PENDING_MUTATIONS_MAX, SENT_AT_ONCE_MAX, TURN_CLOCK_COMMANDS, TURN_COMMANDS_MAX } from "../limits.js";
import { LoopbackPeers } from "../outbox/loopback-peers.js";
import { Processor } from "../processor.js";
import { idleInvoker } from "../testing/idle-invoker.js";

const CALLS = 4_000;
const KILLED = { kind: "completed", completion: { outcome: { failure: { code: 409, message: "killed" } } } };
/** Mutations of one new invocation: its input and its record. */
const MUTATIONS_OF_ONE = 2;

/** Writes nothing until it is released, and records the size of its batches. */
class SlowStore extends KvPartitionStore {
  readonly batches: number[] = [];
  #release: (() => void) | undefined;

  override async commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    this.batches.push(batches.reduce((sum, { mutations }) => sum + mutations.length, 0));
    await new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    return super.commit(batches);
  }

  release(): boolean {
    const release = this.#release;
    this.#release = undefined;
    release?.();
    return release !== undefined;
  }
}

interface Played {
  readonly starts: StartRun[];
  readonly processor: Processor;
  readonly host: InvokerHost;
  newId(): InvocationId;
  readonly failures: string[];
}

async function play(store: KvPartitionStore, startRun: (effect: StartRun) => void = () => undefined): Promise<Played> {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const peers = new LoopbackPeers();
  const starts: StartRun[] = [];
  const failures: string[] = [];
  const processor = await Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (host) => ({
        ...idleInvoker({
          startRun: (effect) => {
            starts.push(effect);
            startRun(effect);
          },
        }),
        host,
      }),
      rules: NO_RULES,
      peers,
      onFenced: () => failures.push("fenced"),
      onFatal: (error) => failures.push(error.message),
    },
    { partitions: [0, 1, 2, 3], partitionCount: 4, cleanupIntervalMs: 1_000 },
  );
  peers.connect(processor);
  const newId = (): InvocationId => newInvocationId(plainTarget, clock.nowMs(), random);
  return { starts, processor, host: processor.invoker.host, newId, failures };
}

const invokeFor = (id: InvocationId, requestId: number): Invoke => invokeOf(factsFor(id, requestId));
const factsFor = (id: InvocationId, requestId: number): InvocationFacts => someFacts({ id, target: plainTarget, requestId });

test("the commands that gather while a batch is written are bounded, and so are the effects of a batch", async () => {
  const store = new SlowStore(new MemoryKeyValue());
  let started = 0;
  let inTurn = 0;
  let mostInTurn = 0;
  const { processor, newId } = await play(store, () => {
    started++;
    mostInTurn = Math.max(mostInTurn, ++inTurn);
  });
  for (let n = 0; n < CALLS; n++) processor.submit(invokeFor(newId(), n + 1), undefined);
  // Many turns pass during each write.
  while (started < CALLS) {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    inTurn = 0;
    store.release();
  }
  const most = PENDING_MUTATIONS_MAX + TURN_CLOCK_COMMANDS * MUTATIONS_OF_ONE;
  expect(Math.max(...store.batches)).toBeLessThanOrEqual(most);
  expect(mostInTurn).toBeLessThanOrEqual(most / MUTATIONS_OF_ONE);
  expect(store.batches.reduce((sum, count) => sum + count, 0)).toBe(CALLS * MUTATIONS_OF_ONE);
});

/** Counts rows that are read at once. */
class CountingKeyValue extends MemoryKeyValue {
  /** Part of the keys to count. */
  counted: string | undefined;
  readsAtOnce = 0;

  override get(key: string): Uint8Array | undefined {
    if (this.counted !== undefined && key.includes(this.counted)) this.readsAtOnce++;
    return super.get(key);
  }
}

/** Records the number of mutations of each batch. */
class CountingStore extends KvPartitionStore {
  batches: number[] = [];

  override commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    this.batches.push(batches.reduce((sum, { mutations }) => sum + mutations.length, 0));
    return super.commit(batches);
  }
}

const turns = async (until: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 100_000 && !until(); turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Characters of an id at the end of the key of its record and within those of its journal. */
const ID_CHARS = 33;
/** Mutations of one `kill`: its record, its retention timer, and what the completions of callees leave behind. */
const MUTATIONS_OF_ONE_KILL = 4;

describe.each([
  // The root calls all others.
  ["many more children than are killed at once", 3_000, (): number => 0],
  // Each calls the next one: to kill them one within the other would overflow the stack.
  ["a long chain of calls", 9_000, (n: number): number => n],
] as const)("a kill that is about %s", (_, callees, callerOf) => {
  test("kills them all, in batches and turns that are bounded", async () => {
    const kv = new CountingKeyValue();
    const store = new CountingStore(kv);
    const { processor, host, newId, starts, failures } = await play(store);
    const ids = Array.from({ length: callees + 1 }, newId);
    processor.submit(invokeFor(ids[0] as InvocationId, 1), undefined);
    const completions = new Map<InvocationId, number>();
    for (let n = 0; n < callees; n++) {
      const caller = ids[callerOf(n)] as InvocationId;
      const next = (completions.get(caller) ?? 0) + 1;
      completions.set(caller, next + 1);
      host.submit(callOf(caller, 1, factsFor(ids[n + 1] as InvocationId, n + 2), next, next + 1));
    }
    await turns(() => starts.length > callees);
    store.batches = [];
    const root = ids[0] as InvocationId;
    kv.counted = `j${invocationRowKeys(partitionOf(root, 4), root)[0].slice(-ID_CHARS)}`;
    const before = processor.counters.completed;
    let most = 0;
    let commands = processor.counters.commands;
    processor.submit({ kind: "kill", id: ids[0] as InvocationId }, undefined);
    await turns(() => {
      most = Math.max(most, processor.counters.commands - commands);
      commands = processor.counters.commands;
      return processor.counters.completed - before > callees;
    });
    expect(failures).toEqual([]);
    expect(kv.readsAtOnce).toBeLessThan(LONG_JOURNAL_ENTRIES); // A longer journal is loaded outside the turn.
    expect(processor.counters.completed - before).toBe(callees + 1);
    const partitions = new LocalPartitions(processor);
    for (const outcome of await Promise.all(ids.map((id) => partitions.output(id)))) expect(outcome).toMatchObject(KILLED);
    expect(most).toBeLessThanOrEqual(TURN_COMMANDS_MAX + SENT_AT_ONCE_MAX);
    const sentLater = callees; // A small row for each.
    const together = PENDING_MUTATIONS_MAX + SENT_AT_ONCE_MAX * MUTATIONS_OF_ONE_KILL;
    expect(Math.max(...store.batches)).toBeLessThanOrEqual(together + sentLater);
    await processor[Symbol.asyncDispose]();
  });
});
