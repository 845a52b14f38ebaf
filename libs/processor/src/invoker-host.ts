/** Why: attempts speak to their partition through this: what they do goes into the mailbox, what they need is read beside the turn. */
import { type InvocationId, invariant } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { AsyncPartitionStore, PartitionStore } from "@perdure/store";
import type { LedPartitionTable } from "./led.js";
import type { Mailbox } from "./mailbox.js";

export interface HostPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly led: LedPartitionTable;
  readonly mailbox: Mailbox;
}

export function hostOf({ store, led, mailbox }: HostPorts): InvokerHost {
  const { staging } = store;
  return {
    stage: staging === undefined ? undefined : (body) => staging.stage(body),
    submit: (command) => mailbox.post({ kind: "command", command, reply: undefined }),
    settled: (callback) => mailbox.post({ kind: "barrier", passed: callback }),
    async readJournal(id, length) {
      const entries = await store.readJournal(led.partitionOf(id), id, length);
      invariant(entries.length === length, "the journal of a running invocation is whole");
      return entries;
    },
    readState: (id, service, key) => readState(store, led, id, service, key),
  };
}

/** What is remembered must not be older than what was written while it was read. */
async function readState(
  store: HostPorts["store"],
  led: LedPartitionTable,
  id: InvocationId,
  service: string,
  key: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const view = led.of(id)?.view;
  const known = view?.durableState(service, key);
  if (known !== undefined) return known;
  const watch = view?.watchState(service, key);
  let isCurrent = false;
  let state: ReadonlyMap<string, Uint8Array>;
  try {
    state = await store.stateOf(led.partitionOf(id), service, key);
  } finally {
    isCurrent = watch?.finished() ?? false;
  }
  if (isCurrent) view?.rememberState(service, key, state);
  return state;
}
