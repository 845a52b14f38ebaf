/** Bugs of a cluster, put between real parts; simulation must find each of them. */
import type { ServedPartitions } from "@perdure/driver-grpc";
import { type AsyncPartitionStore, type LeaseOutcome, type Row, type RowKey, rowName } from "@perdure/store";
import type { Plant } from "../plant.js";

const nothing = (): void => undefined;

/** How many wrong milliseconds a leader believes its lease to last. */
const TOO_LONG_MS = 10_000;

/** Rows pass through `change`, given the fetch that brought them. */
function fetching(change: (row: Row, partition: number) => Row): (store: AsyncPartitionStore) => AsyncPartitionStore {
  return (store) => ({
    ...store,
    fetch: async (partition, keys) => (await store.fetch(partition, keys)).map((row) => change(row, partition)),
  });
}

function serving(change: (served: ServedPartitions) => Partial<ServedPartitions>): () => Plant {
  return () => ({ served: (served) => ({ ...served, ...change(served) }) });
}

/** Whoever writes is taken for the present leader. */
const fenceOff = (): Plant => ({ medium: { epochOf: (_batch, present) => present } });

/** A store that came back empty is taken for that of a new environment. */
const markIgnored = (): Plant => ({ medium: { ignoresMark: true } });

/** A leader goes on after its lease has ended. */
const leaseHeldAfterItsEnd = (): Plant => {
  const longer = (outcome: LeaseOutcome): LeaseOutcome =>
    outcome.kind === "held"
      ? { kind: "held", lease: { ...outcome.lease, endsAtMs: outcome.lease.endsAtMs + TOO_LONG_MS } }
      : outcome;
  return {
    leases: (leases) => ({
      acquire: async (partitions) => (await leases.acquire(partitions)).map(longer),
      renew: async (partitions) => (await leases.renew(partitions)).map(longer),
      release: (partitions) => leases.release(partitions),
      holders: (partitions) => leases.holders(partitions),
    }),
  };
};

/** A message counts as delivered when it has arrived, not when it is durable. */
const acknowledgedBeforeCommit = serving((served) => ({
  deliver(command, producer, seq, delivered, after) {
    const isTaken = served.deliver(command, producer, seq, nothing, after, nothing);
    if (isTaken) delivered();
    return isTaken;
  },
}));

/** A new leader does not know which messages the one before has taken. */
const dedupLostOnHandOver = (): Plant => ({
  asyncStore: fetching((row) => (row.kind === "dedup" ? { ...row, value: undefined } : row)),
});

/** A worker that leads again believes the rows of the time before. */
const rowsOfLastTerm = (): Plant => ({
  asyncStore: (store) => {
    const known = new Map<string, Row>();
    const nameOf = (partition: number, row: RowKey): string => `${partition}/${rowName(row)}`;
    return fetching((row, partition) => {
      const before = known.get(nameOf(partition, row));
      if (before === undefined) known.set(nameOf(partition, row), row);
      return before ?? row;
    })(store);
  },
});

/** Some row that was asked for is not in the answer, which then counts as absent. */
const rowMissedByPrefetch = (): Plant => ({
  asyncStore: (store, { scheduler: { random } }) =>
    fetching((row) => (row.kind === "invocation" && random.chance(0.05) ? { ...row, value: undefined } : row))(store),
});

/** What was sent once more after a redirection counts as new. */
const redirectedIsNew = serving(({ partitions }) => ({
  partitions: {
    invoke: ({ resubmission: _, ...command }, wait, observer) => partitions.invoke(command, wait, observer),
    attach: (id, observer) => partitions.attach(id, observer),
    output: (id) => partitions.output(id),
    describe: (id) => partitions.describe(id),
    submit: (command) => partitions.submit(command),
  },
}));

/** Each call plants afresh; these need worlds of clusters. */
export const CLUSTER_PLANTS = {
  fenceOff,
  markIgnored,
  leaseHeldAfterItsEnd,
  acknowledgedBeforeCommit,
  dedupLostOnHandOver,
  rowsOfLastTerm,
  rowMissedByPrefetch,
  redirectedIsNew,
} satisfies Record<string, () => Plant>;
