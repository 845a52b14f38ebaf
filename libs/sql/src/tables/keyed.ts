/** Why: state, promises, locks and inboxes belong to a service and a key; both may be named by a statement. */
import { fromBinaryString, fromUtf8, fromUtf8Strict, hashString, type InvocationId, partitionOfKey } from "@perdure/base";
import type { InboxRow, IntrospectionSource, LockRow, PromiseRow, StateRow } from "../ports.js";
import { allowedValues, type ScanHints, wants } from "../query/hints.js";
import { defineTable } from "../table.js";
import { failureTextWithWord } from "./invocation-readers.js";

export const state = defineTable<StateRow>({
  name: "state",
  readers: {
    partition_key: ({ key }) => hashString(key),
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    key: ({ stateKey }) => fromUtf8(fromBinaryString(stateKey)),
    key_length: ({ stateKey }) => stateKey.length,
    value_utf8: ({ value }) => fromUtf8Strict(value),
    value: ({ value }) => value,
    value_length: ({ value }) => value.length,
  },
  async *rows(source, hints) {
    const services = allowedValues(hints, "service_name");
    const keys = allowedValues(hints, "service_key");
    if (services !== undefined && keys !== undefined) return yield* stateOfKeys(source, services, keys);
    for (const partition of partitionsFor(source, hints)) {
      for (const service of services ?? [undefined]) yield* source.store.scanState(partition, service);
    }
  },
});

async function* stateOfKeys(
  { store, partitionCount }: IntrospectionSource,
  services: Iterable<string>,
  keys: Iterable<string>,
): AsyncIterable<StateRow> {
  for (const key of keys) {
    const partition = partitionOfKey(hashString(key), partitionCount);
    for (const service of services) {
      for (const [stateKey, value] of await store.stateOf(partition, service, key)) yield { service, key, stateKey, value };
    }
  }
}

export const promise = defineTable<PromiseRow>({
  name: "sys_promise",
  readers: {
    partition_key: ({ key }) => hashString(key),
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    key: ({ name }) => name,
    completed: ({ promise }) => promise.kind === "completed",
    completion_success_value: (row) => successOf(row),
    completion_success_value_utf8: (row) => {
      const value = successOf(row);
      return value === undefined ? undefined : fromUtf8Strict(value);
    },
    completion_failure: ({ promise }) =>
      promise.kind === "completed" && promise.outcome.kind === "failure"
        ? failureTextWithWord(promise.outcome.failure.code, promise.outcome.failure.message)
        : undefined,
  },
  async *rows(source, hints) {
    for (const partition of partitionsFor(source, hints)) yield* source.store.scanPromises(partition);
  },
});

function successOf({ promise }: PromiseRow): Uint8Array | undefined {
  return promise.kind === "completed" && promise.outcome.kind === "success" ? promise.outcome.value : undefined;
}

/** A row only while somebody holds the lock. */
export const keyedServiceStatus = defineTable<LockRow & { readonly holder: InvocationId }>({
  name: "sys_keyed_service_status",
  readers: {
    partition_key: ({ key }) => hashString(key),
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    invocation_id: ({ holder }) => holder,
  },
  async *rows(source, hints) {
    for (const partition of partitionsFor(source, hints)) {
      for await (const row of source.store.scanLocks(partition)) {
        const { holder } = row.lock;
        if (holder !== undefined && isWanted(hints, row)) yield { service: row.service, key: row.key, lock: row.lock, holder };
      }
    }
  },
});

/** Invocations that wait for a key; changes of state that wait as well have no id and are not shown. */
export const inbox = defineTable<InboxRow & { readonly id: InvocationId }>({
  name: "sys_inbox",
  readers: {
    partition_key: ({ key }) => hashString(key),
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    id: ({ id }) => id,
    sequence_number: ({ seq }) => seq,
  },
  async *rows(source, hints) {
    for (const partition of partitionsFor(source, hints)) {
      for await (const row of source.store.scanInboxes(partition)) {
        if (row.entry.kind !== "invocation" || !isWanted(hints, row)) continue;
        yield { service: row.service, key: row.key, seq: row.seq, entry: row.entry, id: row.entry.id };
      }
    }
  },
});

function isWanted(hints: ScanHints, row: { readonly service: string; readonly key: string }): boolean {
  return wants(hints, "service_name", row.service) && wants(hints, "service_key", row.key);
}

/** A key lives in one partition. */
function partitionsFor({ partitionCount }: IntrospectionSource, hints: ScanHints): Iterable<number> {
  const keys = allowedValues(hints, "service_key");
  if (keys === undefined) return Array.from({ length: partitionCount }, (_, partition) => partition);
  return new Set([...keys].map((key) => partitionOfKey(hashString(key), partitionCount)));
}
