/** The memory use of Redis, for metrics: a Redis that is full rejects writes. */
import type { RedisConnections } from "./connect.js";

export interface RedisStatus {
  readonly usedBytes: number;
  /** Bytes of stored data: the used memory without that of an empty server. */
  readonly dataBytes: number;
  /** The configured limit, or the memory of the machine when there is no limit; undefined when the server does not report it. */
  readonly bytesMax: number | undefined;
  /** Size of the append-only file on disk; undefined when there is none. */
  readonly logBytes: number | undefined;
}

/** Rejects with STO0001 when Redis does not answer within `timeoutMs`, and when the command is not allowed. */
export async function readRedisStatus({ reads }: RedisConnections, timeoutMs: number): Promise<RedisStatus> {
  const info = String(await reads.one(["INFO", "memory", "persistence"], { timeoutMs }));
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)\r?$`, "m").exec(info)?.[1] ?? 0);
  const bytesMax = field("maxmemory") || field("total_system_memory");
  const logBytes = field("aof_current_size");
  return {
    usedBytes: field("used_memory"),
    dataBytes: field("used_memory_dataset"),
    bytesMax: bytesMax === 0 ? undefined : bytesMax,
    logBytes: logBytes === 0 ? undefined : logBytes,
  };
}
