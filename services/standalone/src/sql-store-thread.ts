/** The entry point of the thread that reads LevelDB for statement processes. It is bundled beside `main.mjs`. */
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "@perdure/base";
import { runStoreThread, type StoreThreadData } from "@perdure/introspection/process";
import { openLevelReader } from "@perdure/leveldb";

invariant(parentPort !== null, "this module is started as a thread");
const data = workerData as StoreThreadData;
await runStoreThread({ port: parentPort, data, openStore: () => openLevelReader(String(data.store)) });
