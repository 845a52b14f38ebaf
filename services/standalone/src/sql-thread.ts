/**
 * Why: the entry point of the thread that runs SQL statements, with the drivers it needs and nothing else of the server. It is
 * bundled beside `main.mjs` and started by `@perdure/sql` when the first statement comes.
 */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "@perdure/base";
import { openLevelReader } from "@perdure/driver-level";
import type { SourceDescription } from "@perdure/sql";
import { type OpenStore, runSqlThread, type ThreadData } from "@perdure/sql/thread";
import { KvPartitionStore } from "@perdure/store";
import { SQL_THREAD_NICENESS } from "./limits.js";

async function openStore({ store }: SourceDescription): Promise<OpenStore> {
  invariant(store.kind === "level", "this process keeps its partitions in LevelDB");
  const reader = await openLevelReader(store.directory);
  return {
    isOneMoment: true,
    snapshot: () => new KvPartitionStore(reader.snapshot()),
    [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
  };
}

invariant(parentPort !== null, "this module is started as a thread");
// On Linux this concerns the calling thread only. Elsewhere it would slow the whole process down.
if (process.platform === "linux") setPriority(0, SQL_THREAD_NICENESS);
await runSqlThread({ port: parentPort, data: workerData as ThreadData, openStore });
