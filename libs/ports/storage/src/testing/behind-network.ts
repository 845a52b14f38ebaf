/** Simulates a store behind a network: the same rows, in batches, with a delay. Tests use it to prove that no code needs rows at once. */
import type { AsyncPartitionStore, FetchedRow, RowKey } from "../async-reads.js";
import type { PartitionStore } from "../partition-store.js";

/** `later` runs a task after the current ones; every fetch and commit waits for it. */
export function behindNetwork(store: PartitionStore, later: (task: () => void) => void = setImmediate): AsyncPartitionStore {
  const soon = (): Promise<void> => new Promise((resolve) => later(resolve));
  const find = async (partition: number, key: RowKey): Promise<FetchedRow["value"]> => {
    const { reads } = store;
    switch (key.kind) {
      case "invocation":
        return reads.invocation(partition, key.id);
      case "entry":
        return reads.entry(partition, key.id, key.index);
      case "journal":
        return store.readJournal(partition, key.id, reads.invocation(partition, key.id)?.journal.length ?? 0);
      case "lock":
        return reads.lock(partition, key.service, key.key);
      case "inbox":
        return reads.inbox(partition, key.service, key.key, key.seq);
      case "state":
        return reads.state(partition, key.service, key.key, key.stateKey);
      case "stateOf":
        return store.stateOf(partition, key.service, key.key);
      case "promise":
        return reads.promise(partition, key.service, key.key, key.name);
      case "promisesOf": {
        const names = await store.promisesOf(partition, key.service, key.key);
        return new Map(
          names.flatMap((name) => {
            const promise = reads.promise(partition, key.service, key.key, name);
            return promise === undefined ? [] : [[name, promise] as const];
          }),
        );
      }
      case "hasTimer":
        return reads.hasTimer(partition, key.timer);
      case "dedup":
        return reads.dedup(partition, key.producer);
    }
  };
  return {
    capabilities: { ...store.capabilities, syncReads: false },
    async fetch(partition, keys) {
      await soon();
      const rows = await Promise.all(keys.map(async (key) => ({ ...key, value: await find(partition, key) }) as FetchedRow));
      await soon(); // Commits that happen during the fetch are not in its result.
      return rows;
    },
    claim: (partition) => store.claim(partition),
    async commit(batches) {
      await soon();
      const outcome = await store.commit(batches);
      await soon();
      return outcome;
    },
    readJournal: (partition, id, length, bytesMax) => store.readJournal(partition, id, length, bytesMax),
    stateOf: (partition, service, key) => store.stateOf(partition, service, key),
    promisesOf: (partition, service, key) => store.promisesOf(partition, service, key),
    timers: (partition, group, fromMs, limit) => store.timers(partition, group, fromMs, limit),
    outbox: (partition, afterSeq, limit) => store.outbox(partition, afterSeq, limit),
    recoverable: (partition, counted) => store.recoverable(partition, counted),
    flow: (partition) => store.flow(partition),
    unfinished: (partition, status) => store.unfinished(partition, status),
    completed: (partition) => store.completed(partition),
    events: (partition, id) => store.events(partition, id),
    scanState: (partition, service, where) => store.scanState(partition, service, where),
    scanPromises: (partition) => store.scanPromises(partition),
    scanLocks: (partition) => store.scanLocks(partition),
    scanInboxes: (partition) => store.scanInboxes(partition),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
