/** `sys_locks`: which invocation holds which object; a row only while it is held. */
import { hashString, type InvocationId } from "@perdure/base";
import { parseKeyspace } from "@perdure/state-machine";
import { decodeInvocation } from "@perdure/storage";
import { IDS_AT_ONCE } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import { isRead } from "../query/hints.js";
import { defineTable } from "../table.js";
import { rowsOfIds } from "./invocations.js";
import { everyPartition } from "./partitions.js";

interface HeldLock {
  readonly service: string;
  readonly scope: string | undefined;
  readonly key: string;
  readonly holder: InvocationId;
  /** Undefined when the statement does not need it, or its holder is not stored (any more). */
  acquiredAtMs: number | undefined;
}

export const locks = defineTable<HeldLock>({
  name: "sys_locks",
  readers: {
    partition_key: ({ scope, key }) => hashString(scope ?? key),
    scope: ({ scope }) => scope,
    lock_name: ({ service, key }) => `${service}/${key}`,
    acquired_at: ({ acquiredAtMs }) => acquiredAtMs,
    acquired_by: ({ holder }) => holder,
  },
  async *rows(source, hints) {
    const isTimeRead = isRead(hints, "acquired_at");
    let gathered: HeldLock[] = [];
    const partitions = everyPartition(source);
    source.store.expectScans?.("locks", partitions);
    for (const partition of partitions) {
      for await (const { service: keyspace, key, lock } of source.store.scanLocks(partition)) {
        if (lock.holder === undefined) continue;
        gathered.push({ ...parseKeyspace(keyspace), key, holder: lock.holder, acquiredAtMs: undefined });
        if (isTimeRead && gathered.length < IDS_AT_ONCE) continue;
        if (isTimeRead) await addTimes(source, gathered);
        yield* gathered;
        gathered = [];
      }
    }
    if (isTimeRead) await addTimes(source, gathered);
    yield* gathered;
  },
});

async function addTimes(source: IntrospectionSource, locks: readonly HeldLock[]): Promise<void> {
  const rows = await rowsOfIds(
    source,
    locks.map(({ holder }) => holder),
  );
  for (const [n, lock] of locks.entries()) {
    const row = rows[n];
    if (row !== undefined) lock.acquiredAtMs = decodeInvocation(row).milestones.runningAtMs;
  }
}
