/** The entry point of a further thread that leads partitions. It is bundled beside `main.mjs`. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { workerData } from "node:worker_threads";
import type { ShardData } from "./threads/methods.js";

enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runShard } = await import("./threads/shard.js");
const data: ShardData = workerData;
await runShard(data);
