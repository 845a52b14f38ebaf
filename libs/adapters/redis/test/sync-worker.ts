/** The thread of `sync-reads.ts`: fetches from Redis while the thread of the test waits. */
import { type MessagePort, workerData } from "node:worker_threads";
import { silentLogger, systemClock } from "@perdure/base";
import type { RowKey } from "@perdure/storage";
import { connectRedis, type RedisConnectionOptions, RedisPartitionStore } from "../src/index.js";

export interface SyncRequest {
  readonly environment: string;
  readonly partition: number;
  readonly keys: readonly RowKey[];
}

export interface SyncWorkerData {
  readonly redis: RedisConnectionOptions;
  readonly port: MessagePort;
  /** The worker sets element 0 to 1 after it has posted the response to `port`. */
  readonly answered: Int32Array;
}

const { redis, port, answered } = workerData as SyncWorkerData;
const connections = connectRedis(redis, { clock: systemClock, logger: silentLogger });

port.on("message", async ({ environment, partition, keys }: SyncRequest) => {
  try {
    port.postMessage({ rows: await new RedisPartitionStore(await connections, { environment }).fetch(partition, keys) });
  } catch (cause) {
    port.postMessage({ error: String(cause) });
  }
  Atomics.store(answered, 0, 1);
  Atomics.notify(answered, 0);
});
