/** Reads everything that can be read of a partition. A recorded partition is whole when all of it reads as it did at recording time. */
import { anId } from "@perdure/state-machine/testing";
import type { PartitionStore } from "../src/index.js";
import { all } from "../src/testing/rows.js";

const ROWS = 1_000;

/** Returns all rows as objects. */
export async function partitionReads(store: PartitionStore, partition: number): Promise<unknown> {
  const state = await all(store.scanState(partition, undefined));
  const promises = await all(store.scanPromises(partition));
  return {
    unfinished: await all(store.unfinished(partition, undefined)),
    completed: await all(store.completed(partition)),
    takenUp: await all(store.recoverable(partition)),
    journal: await store.readJournal(partition, anId(1), ROWS),
    events: await store.events(partition, anId(1)),
    state,
    ofPlain: await store.stateOf(partition, "Plain", "key"),
    inScopes: await all(store.scanState(partition, "Plain", "inScopes")),
    promises,
    promisesOfPlain: await store.promisesOf(partition, "Plain", "key"),
    locks: await all(store.scanLocks(partition)),
    inboxes: await all(store.scanInboxes(partition)),
    precise: await store.timers(partition, "precise", 0, ROWS),
    retention: await store.timers(partition, "retention", 0, ROWS),
    flow: await store.flow(partition),
    outbox: await store.outbox(partition, -1, ROWS),
    received: ["p0", "p63", "p1"].map((producer) => store.reads.dedup(partition, producer) ?? null),
  };
}
