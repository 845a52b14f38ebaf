/** Rows that belong to a service and a key, both of which a statement may name: state, promises, locks and inboxes. */
import { fromBinaryString, fromUtf8, fromUtf8Strict, hashString, type InvocationId, partitionOfKey } from "@perdure/base";
import { parseKeyspace, type ServiceType } from "@perdure/state-machine";
import type { InboxRow, LockRow, PromiseRow, StateRow } from "@perdure/storage";
import type { IntrospectionSource } from "../ports.js";
import { allowedValues, isNeeded, type ScanHints } from "../query/hints.js";
import { defineTable } from "../table.js";
import { partitionsOfScopes } from "./flow.js";
import { failureTextWithReason } from "./invocation-readers.js";
import { everyPartition } from "./partitions.js";

/** Data under a key, with the scope separated from the service. */
type Scoped<Row> = Row & { readonly scope: string | undefined };

export const state = defineTable<Scoped<StateRow>>({
  name: "state",
  readers: {
    partition_key: partitionKeyOf,
    scope: ({ scope }) => scope,
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
    const scopes = allowedValues(hints, "scope");
    if (services === undefined || keys === undefined) return yield* stateOfServices(source, hints, services);
    const kinds = scopes === undefined ? await kindsOf(source) : new Map<string, ServiceType>();
    for (const service of services) {
      yield* stateOfKeys(source, service, keys, scopes ?? [undefined]);
      // A workflow may also have this key in scopes that the statement does not name, and a service that was removed may have been one.
      const isMaybeScoped = scopes === undefined && (kinds.get(service) ?? "workflow") === "workflow";
      if (isMaybeScoped) yield* stateOfServices(source, hints, [service], "inScopes");
    }
  },
});

async function* stateOfKeys(
  { store, partitionCount }: IntrospectionSource,
  service: string,
  keys: Iterable<string>,
  scopes: Iterable<string | undefined>,
): AsyncIterable<Scoped<StateRow>> {
  for (const scope of scopes) {
    const keyspace = scope === undefined ? service : `${service}@${scope}`;
    for (const key of keys) {
      const partition = partitionOfKey(hashString(scope ?? key), partitionCount);
      for (const [stateKey, value] of await store.stateOf(partition, keyspace, key))
        yield { service, scope, key, stateKey, value };
    }
  }
}

/** Rows that the partition keeps for itself as state, such as the last burst of a debounce key. No service has such a name. */
function isOfPartition({ service }: StateRow): boolean {
  return service.startsWith(":");
}

async function* stateOfServices(
  source: IntrospectionSource,
  hints: ScanHints,
  services: Iterable<string> | undefined,
  where: "everywhere" | "inScopes" = "everywhere",
): AsyncIterable<Scoped<StateRow>> {
  const partitions = partitionsOfScopes(source, hints) ?? everyPartition(source);
  const needed = services === undefined ? [undefined] : [...services];
  source.store.expectStateScans?.(needed, partitions, where);
  for (const partition of partitions) {
    for (const service of needed) {
      for await (const row of source.store.scanState(partition, service, where)) {
        if (!isOfPartition(row) && isNeeded(hints, "service_key", row.key))
          yield { ...parseKeyspace(row.service), key: row.key, stateKey: row.stateKey, value: row.value };
      }
    }
  }
}

async function kindsOf({ live }: IntrospectionSource): Promise<ReadonlyMap<string, ServiceType>> {
  const kinds = new Map<string, ServiceType>();
  for await (const { name, kind } of live.services()) kinds.set(name, kind);
  return kinds;
}

export const promise = defineTable<Scoped<PromiseRow>>({
  name: "sys_promise",
  readers: {
    partition_key: partitionKeyOf,
    scope: ({ scope }) => scope,
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
        ? failureTextWithReason(promise.outcome.failure.code, promise.outcome.failure.message)
        : undefined,
  },
  async *rows(source, hints) {
    const partitions = partitionsOfScopes(source, hints) ?? everyPartition(source);
    source.store.expectScans?.("promises", partitions);
    for (const partition of partitions) {
      for await (const { service, key, name, promise } of source.store.scanPromises(partition)) {
        if (isNeeded(hints, "service_key", key)) yield { ...parseKeyspace(service), key, name, promise };
      }
    }
  },
});

/** All keys of a scope are in one partition, all others are placed by key. */
function partitionKeyOf({ scope, key }: { readonly scope: string | undefined; readonly key: string }): bigint {
  return hashString(scope ?? key);
}

function successOf({ promise }: PromiseRow): Uint8Array | undefined {
  return promise.kind === "completed" && promise.outcome.kind === "success" ? promise.outcome.value : undefined;
}

/** A row only while an invocation holds the lock. */
export const keyedServiceStatus = defineTable<LockRow & { readonly holder: InvocationId }>({
  name: "sys_keyed_service_status",
  readers: {
    partition_key: ({ key }) => hashString(key),
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    invocation_id: ({ holder }) => holder,
  },
  async *rows(source, hints) {
    const partitions = partitionsFor(source, hints);
    source.store.expectScans?.("locks", partitions);
    for (const partition of partitions) {
      for await (const row of source.store.scanLocks(partition)) {
        const { holder } = row.lock;
        if (holder !== undefined && isRowNeeded(hints, row)) yield { service: row.service, key: row.key, lock: row.lock, holder };
      }
    }
  },
});

/** Invocations that wait for a key; waiting changes of state have no id and are not shown. */
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
    const partitions = partitionsFor(source, hints);
    source.store.expectScans?.("inboxes", partitions);
    for (const partition of partitions) {
      for await (const row of source.store.scanInboxes(partition)) {
        if (row.entry.kind !== "invocation" || !isRowNeeded(hints, row)) continue;
        yield { service: row.service, key: row.key, seq: row.seq, entry: row.entry, id: row.entry.id };
      }
    }
  },
});

function isRowNeeded(hints: ScanHints, row: { readonly service: string; readonly key: string }): boolean {
  return isNeeded(hints, "service_name", row.service) && isNeeded(hints, "service_key", row.key);
}

/** A key is in one partition. */
function partitionsFor({ partitionCount }: IntrospectionSource, hints: ScanHints): readonly number[] {
  const keys = allowedValues(hints, "service_key");
  if (keys === undefined) return everyPartition({ partitionCount });
  return [...new Set([...keys].map((key) => partitionOfKey(hashString(key), partitionCount)))];
}
