/** Why: tests of the driver need a server, connections to it, and a leader with batches to write. */
import { silentLogger, systemClock } from "@perdure/base";
import type { Mutation } from "@perdure/partition";
import type { CommitOutcome, Row, RowKey } from "@perdure/store";
import { connectRedis, type RedisConnections, type RedisOptions, RedisPartitionStore } from "../src/index.js";

export const ENVIRONMENT = "e";

export function connectTo(port: number, options: Partial<RedisOptions> = {}): Promise<RedisConnections> {
  return connectRedis({ nodes: [{ host: "127.0.0.1", port }], ...options }, { clock: systemClock, logger: silentLogger });
}

/** Writes to one partition under the epoch it was claimed with, and reads from it. */
export interface RedisLeader {
  readonly redis: RedisConnections;
  readonly store: RedisPartitionStore;
  readonly epoch: number;
  put(...mutations: Mutation[]): Promise<CommitOutcome>;
  fetch(...keys: RowKey[]): Promise<readonly Row["value"][]>;
}

export async function lead(redis: RedisConnections, partition = 0): Promise<RedisLeader> {
  const store = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
  const epoch = await store.claim(partition);
  return {
    redis,
    store,
    epoch,
    put: (...mutations) => store.commit([{ partition, epoch, mutations }]),
    fetch: async (...keys) => (await store.fetch(partition, keys)).map(({ value }) => value),
  };
}

export const COMMITTED: CommitOutcome = { kind: "committed" };
