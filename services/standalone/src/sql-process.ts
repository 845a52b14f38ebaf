/**
 * The entry point of the process that runs SQL statements. It has no driver of a store: the server has LevelDB open and serves reads of
 * it. It is bundled beside `main.mjs` and started by `@perdure/introspection` when a statement comes.
 */
import { runSqlProcess } from "@perdure/introspection/process";

runSqlProcess({ openStore: () => Promise.reject(new Error("this server keeps its partitions in LevelDB, which it serves")) });
