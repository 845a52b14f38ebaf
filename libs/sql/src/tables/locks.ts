/** Why: `sys_locks`, who holds which object; a row only while somebody does. */
import { hashString, type InvocationId, partitionOf } from "@perdure/base";
import { parseKeyspace } from "@perdure/partition";
import type { IntrospectionSource } from "../ports.js";
import { defineTable } from "../table.js";

interface HeldLock {
  readonly source: IntrospectionSource;
  readonly service: string;
  readonly scope: string | undefined;
  readonly key: string;
  readonly holder: InvocationId;
}

export const locks = defineTable<HeldLock>({
  name: "sys_locks",
  readers: {
    partition_key: ({ scope, key }) => hashString(scope ?? key),
    scope: ({ scope }) => scope,
    lock_name: ({ service, key }) => `${service}/${key}`,
    acquired_at: ({ source, holder }) =>
      source.store.reads.invocation(partitionOf(holder, source.partitionCount), holder)?.milestones.runningAtMs,
    acquired_by: ({ holder }) => holder,
  },
  async *rows(source) {
    for (let partition = 0; partition < source.partitionCount; partition++) {
      for await (const { service: keyspace, key, lock } of source.store.scanLocks(partition)) {
        if (lock.holder === undefined) continue;
        yield { source, ...parseKeyspace(keyspace), key, holder: lock.holder };
      }
    }
  },
});
