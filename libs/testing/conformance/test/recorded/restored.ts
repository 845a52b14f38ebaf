/** Why: a recorded cluster is two dumps; this makes directories of them that Redis and PostgreSQL start on as after any restart. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startPostgres, startRedis } from "@perdure/servers";
import pg from "pg";
import { eventually } from "../../src/index.js";
import { unpackRecording } from "./packed.js";

export interface Directories {
  readonly postgres: string;
  readonly redis: string;
}

/** Below `root`, an empty directory. */
export async function restoreCluster(root: string): Promise<Directories> {
  unpackRecording("cluster.v1.files.br", root);
  const directories = { postgres: join(root, "postgres"), redis: join(root, "redis") };
  mkdirSync(directories.postgres);
  await restoreRedis(directories.redis);
  await using postgres = await startPostgres({ directory: directories.postgres });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(readFileSync(join(root, "postgres.sql"), "utf8"));
  await client.end();
  await postgres.stop();
  return directories;
}

/** Redis loads a snapshot only while it keeps no log; afterwards it writes its log from what it has loaded. */
export async function restoreRedis(directory: string): Promise<void> {
  await using redis = await startRedis({ directory, config: { appendonly: "no" } });
  await redis.request("CONFIG", "SET", "appendonly", "yes");
  await eventually("the log is written", async () => {
    const info = String(await redis.request("INFO", "persistence"));
    return (
      info.includes("aof_rewrite_in_progress:0") && info.includes("aof_rewrite_scheduled:0") && info.includes("aof_enabled:1")
    );
  });
  await redis.stop();
}
