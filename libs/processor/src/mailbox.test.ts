/** How much a turn does, counted in work and not in time. */
import { expect, test } from "@jest/globals";
import { newInvocationId, silentLogger } from "@perdure/base";
import type { Invoker } from "@perdure/invoker";
import { invokeOf, plainTarget, someFacts } from "@perdure/partition/testing";
import { type CommitOutcome, KvPartitionStore, MemoryKeyValue, type PartitionBatch } from "@perdure/store";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { NO_RULES } from "./flow-control.js";
import { PENDING_MUTATIONS_MAX, TURN_CLOCK_COMMANDS } from "./limits.js";
import { LoopbackPeers } from "./loopback-peers.js";
import { Processor } from "./processor.js";
import { idleInvoker } from "./testing/idle-invoker.js";

const CALLS = 4_000;
/** Mutations of one new invocation: its input and its record. */
const MUTATIONS_OF_ONE = 2;

/** Writes nothing until it is released, and notes how large its batches are. */
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

test("what gathers while a batch is written is bounded, and so are the effects of a batch", async () => {
  const store = new SlowStore(new MemoryKeyValue());
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  let started = 0;
  let inTurn = 0;
  let mostInTurn = 0;
  const invoker: Invoker = idleInvoker({
    startRun: () => {
      started++;
      mostInTurn = Math.max(mostInTurn, ++inTurn);
    },
  });
  const processor = await Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: () => invoker,
      rules: NO_RULES,
      peers: new LoopbackPeers(),
      onFenced: () => undefined,
      onFatal: () => undefined,
    },
    { partitions: [0, 1, 2, 3], partitionCount: 4, cleanupIntervalMs: 1_000 },
  );
  for (let n = 0; n < CALLS; n++) {
    const id = newInvocationId(plainTarget, clock.nowMs(), random);
    processor.submit(invokeOf(someFacts({ id, target: plainTarget, requestId: n + 1 })), undefined);
  }
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
