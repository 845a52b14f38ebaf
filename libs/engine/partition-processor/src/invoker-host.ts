/** Gives attempts access to their partition: their commands go to the mailbox, and their reads happen outside the turn. */
import { type InvocationId, invariant } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import { type AsyncPartitionStore, isLeadLost, type PartitionStore } from "@perdure/storage";
import type { LeaderPartitionTable } from "./leader-partition.js";
import { LARGE_PAYLOAD_BYTES } from "./limits.js";
import type { Mailbox } from "./turn/mailbox.js";

export interface HostPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly leaderPartitions: LeaderPartitionTable;
  readonly mailbox: Mailbox;
  /** As `ProcessorPorts.largeGarbage`. */
  readonly largeGarbage: ((bytes: number) => void) | undefined;
  /** Called when a read was refused because this process does not lead the partition any more. */
  readonly lost: (cause: unknown) => void;
}

export function hostOf({ store, leaderPartitions, mailbox, largeGarbage, lost }: HostPorts): InvokerHost {
  const { staging } = store;
  /** Passes on a read of an attempt. If the read shows that the partition is led elsewhere, no attempt of it may begin. */
  const reading = async <T>(read: Promise<T>): Promise<T> => {
    try {
      return await read;
    } catch (cause) {
      if (isLeadLost(cause)) lost(cause);
      throw cause;
    }
  };
  return {
    stage: staging === undefined ? undefined : (body) => staging.stage(body),
    submit: (command) => mailbox.post({ kind: "command", command, reply: undefined }),
    whenDurable: (callback) => mailbox.post({ kind: "barrier", passed: callback }),
    async readJournal(id, length) {
      const entries = await reading(store.readJournal(leaderPartitions.partitionOf(id), id, length));
      invariant(entries.length === length, "the journal of a running invocation is whole");
      let largeBytes = 0;
      for (const { body } of entries) largeBytes += largeBytesOf(body);
      if (largeBytes > 0) largeGarbage?.(largeBytes);
      return entries;
    },
    async readState(id, service, key) {
      const state = await reading(readState(store, leaderPartitions, id, service, key));
      let largeBytes = 0;
      for (const value of state.values()) largeBytes += largeBytesOf(value);
      if (largeBytes > 0) largeGarbage?.(largeBytes);
      return state;
    },
  };
}

function largeBytesOf({ length }: Uint8Array): number {
  return length >= LARGE_PAYLOAD_BYTES ? length : 0;
}

/** A state that was written during the read must not be cached with the value that was read. */
async function readState(
  store: HostPorts["store"],
  leaderPartitions: LeaderPartitionTable,
  id: InvocationId,
  service: string,
  key: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const view = leaderPartitions.of(id)?.view;
  const durable = view?.durableState(service, key);
  if (durable !== undefined) return durable;
  const watch = view?.watchState(service, key);
  let isCurrent = false;
  let state: ReadonlyMap<string, Uint8Array>;
  try {
    state = await store.stateOf(leaderPartitions.partitionOf(id), service, key);
  } finally {
    isCurrent = watch?.finished() ?? false;
  }
  if (isCurrent) view?.rememberState(service, key, state);
  return state;
}
