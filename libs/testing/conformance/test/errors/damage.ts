/** Why: storage as other versions or bad disks leave it. Rows are changed below the server, while it is stopped. */
import { type InvocationId, partitionOf } from "@perdure/base";
import { openLevelKeyValue } from "@perdure/leveldb";
import type { ProtocolVersion } from "@perdure/service-protocol";
import { KvPartitionStore } from "@perdure/storage";

const GARBAGE = Buffer.from("\u00ff\u00fe this is not a row of ours");

/** Overwrites or removes every row whose value contains `mark`; resolves with their number. */
export async function damageRows(database: string, mark: string, how: "overwrite" | "remove"): Promise<number> {
  await using rows = await openLevelKeyValue(database);
  const damaged = new Map<string, Uint8Array | null>();
  for await (const [key, value] of rows.scan("", "\u{10ffff}")) {
    if (Buffer.from(value).includes(mark)) damaged.set(key, how === "remove" ? null : GARBAGE);
  }
  await rows.write(damaged);
  return damaged.size;
}

/** Pins the invocation to a version of the protocol that this server does not support, as a later server could. */
export async function pinTo(database: string, partitions: number, id: InvocationId, version: number): Promise<void> {
  await using rows = await openLevelKeyValue(database);
  const store = new KvPartitionStore(rows);
  const partition = partitionOf(id, partitions);
  const epoch = await store.claim(partition);
  const invocation = store.reads.invocation(partition, id);
  if (invocation?.pinned === undefined) throw new Error(`${id} has not begun`);
  const pinned = { ...invocation.pinned, protocolVersion: version as ProtocolVersion };
  await store.commit([{ partition, epoch, mutations: [{ kind: "putInvocation", invocation: { ...invocation, pinned } }] }]);
}
