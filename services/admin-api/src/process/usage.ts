/** Usage of a cluster from its Redis and its archive, without any request to workers. */
import { randomUUID } from "node:crypto";
import type { Clock } from "@perdure/base";
import type { SizedArchive } from "@perdure/postgres";
import { type RedisConnections, readActions, readRedisStatus } from "@perdure/redis";
import { ARCHIVE_SIZE_KEPT_MS, USAGE_MS } from "../limits.js";
import type { DataSetUsage } from "../ports.js";

interface ClusterUsageParts {
  readonly connections: RedisConnections;
  readonly environment: string;
  readonly archive: Pick<SizedArchive, "storedBytes">;
  readonly clock: Clock;
}

/** Rejects with STO0001 while one of them does not answer. Totals are cumulative, so a later request misses nothing. */
export function clusterUsage({ connections, environment, archive, clock }: ClusterUsageParts): () => Promise<DataSetUsage> {
  let archived: { readonly bytes: Promise<number>; readonly atMs: number } | undefined;
  const archivedBytes = (): Promise<number> => {
    const nowMs = clock.monotonicMs();
    if (archived !== undefined && nowMs - archived.atMs < ARCHIVE_SIZE_KEPT_MS) return archived.bytes;
    const bytes = archive.storedBytes();
    const pending = { bytes, atMs: nowMs };
    archived = pending;
    bytes.catch(() => {
      if (archived === pending) archived = undefined; // The present request rejects; the next one queries again.
    });
    return bytes;
  };
  return async () => {
    const [{ source, actions }, { dataBytes }, inArchive] = await Promise.all([
      readActions(connections, environment, randomUUID),
      readRedisStatus(connections, USAGE_MS),
      archivedBytes(),
    ]);
    // In a Redis shared with other applications the bytes cannot be attributed.
    return { source, actions, storedBytes: (connections.keyPrefix === "" ? dataBytes : 0) + inArchive };
  };
}
