/** `sys_state_expiry`: objects whose state has a time to live, and when it expires. */
import { hashString, partitionOfKey } from "@perdure/base";
import {
  decodeStateExpiry,
  parseKeyspace,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
  type StateExpiry,
  stateExpiryId,
} from "@perdure/state-machine";
import type { IntrospectionSource } from "../ports.js";
import { allowedValues, isNeeded, type ScanHints } from "../query/hints.js";
import { defineTable } from "../table.js";
import { partitionsOfScopes } from "./flow.js";
import { everyPartition } from "./partitions.js";

type ExpiryRow = Omit<StateExpiry, "service"> & { readonly service: string; readonly scope: string | undefined };

export const stateExpiry = defineTable<ExpiryRow>({
  name: "sys_state_expiry",
  readers: {
    partition_key: ({ scope, key }) => hashString(scope ?? key),
    scope: ({ scope }) => scope,
    service_name: ({ service }) => service,
    service_key: ({ key }) => key,
    ttl: ({ ttlMs }) => ttlMs,
    ttl_source: ({ isOwn }) => (isOwn ? "object" : "service"),
    changed_at: ({ changedAtMs }) => changedAtMs,
    expires_at: ({ expiresAtMs }) => expiresAtMs,
  },
  async *rows(source, hints) {
    const services = allowedValues(hints, "service_name");
    const keys = allowedValues(hints, "service_key");
    if (services !== undefined && keys !== undefined) return yield* rowsOfKeys(source, services, keys, scopesOf(hints));
    const partitions = partitionsOfScopes(source, hints) ?? everyPartition(source);
    source.store.expectStateScans?.([STATE_TTL_SERVICE], partitions);
    for (const partition of partitions) {
      for await (const { stateKey, value } of source.store.scanState(partition, STATE_TTL_SERVICE)) {
        const row = stateKey === STATE_EXPIRY_ROW ? rowOf(value) : undefined;
        if (row !== undefined && isNeeded(hints, "service_name", row.service) && isNeeded(hints, "service_key", row.key))
          yield row;
      }
    }
  },
});

/** Objects are outside of scopes unless a statement names scopes. */
function scopesOf(hints: ScanHints): Iterable<string | undefined> {
  return allowedValues(hints, "scope") ?? [undefined];
}

async function* rowsOfKeys(
  { store, partitionCount }: IntrospectionSource,
  services: Iterable<string>,
  keys: Iterable<string>,
  scopes: Iterable<string | undefined>,
): AsyncIterable<ExpiryRow> {
  for (const scope of scopes) {
    for (const service of services) {
      const keyspace = scope === undefined ? service : `${service}@${scope}`;
      for (const key of keys) {
        const partition = partitionOfKey(hashString(scope ?? key), partitionCount);
        const rows = await store.stateOf(partition, STATE_TTL_SERVICE, stateExpiryId(keyspace, key));
        const row = rows.get(STATE_EXPIRY_ROW);
        if (row !== undefined) yield rowOf(row);
      }
    }
  }
}

function rowOf(stored: Uint8Array): ExpiryRow {
  const expiry = decodeStateExpiry(stored);
  return { ...expiry, ...parseKeyspace(expiry.service) };
}
