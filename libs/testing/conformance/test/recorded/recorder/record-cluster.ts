/**
 * How `testdata/cluster.v1.*` were made, once, from the last commit before version 0.1.0 (ba929c1), in a tree of that commit to which this
 * folder was added; `pg_dump` must be on the PATH:
 *
 *     node deploy/run-ts.mjs libs/testing/conformance/test/recorded/recorder/record-cluster.ts <directory for the results>
 *
 * All processes of a cluster with a busy world are killed while it sends many messages between partitions; then Redis and PostgreSQL are
 * dumped. Never run it again over those files: a new version of the stored forms gets a recording of its own.
 */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DevCluster } from "@perdure/dev-cluster";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../../src/index.js";
import { makeBusyWorld } from "../busy-world.js";
import { packFiles } from "../packed.js";
import { redisRows } from "../redis-rows.js";
import { recordedServices } from "../services.js";
import { CLUSTER_OPTIONS } from "../settings.js";

const FAN = 300;
/** Messages that have arrived when the processes are killed. */
const ARRIVED = 40;
const WORLD_WITHIN_MS = 30_000;
/** SQL that psql alone understands. */
const PSQL_COMMAND = /^\\/;

const [results = "."] = process.argv.slice(2);
let arrived = 0;
let kill: (() => void) | undefined;
await using endpoint = await SdkEndpoint.start({
  services: recordedServices,
  onRequest: (path) => {
    if (kill !== undefined && path.endsWith("Tally/add") && ++arrived === ARRIVED) kill();
  },
});
await using cluster = await DevCluster.start({
  ...CLUSTER_OPTIONS,
  workerSettings: { ...CLUSTER_OPTIONS.workerSettings, "archive.age": "3s", "archive.interval": "100ms" },
});
using admin = new TestAdminClient(cluster.adminUrl);
using ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
const deploymentId = await eventually(
  "the deployment is registered",
  () => admin.register({ uri: endpoint.url }),
  WORLD_WITHIN_MS,
);
await eventually("calls are answered", async () => (await ingress.call(["Errand", "tick"])).status === 200, WORLD_WITHIN_MS);
const facts = await makeBusyWorld({ ingress, admin, deploymentId }, FAN);
const { workers, gateways, registry } = cluster;
const killed = new Promise<unknown>((resolve, reject) => {
  kill = () => Promise.all([...workers, ...gateways, registry, cluster.admin].map((one) => one.kill())).then(resolve, reject);
});
const fan = await ingress.send(["Errand", "fan"], { name: facts.fan.name, count: FAN });
await killed;

const rows = await redisRows(cluster.redis.port);
const outboxCount = rows.filter(({ table }) => table === "outbox").length;
if (outboxCount === 0) throw new Error("no message was pending: try again");
if ((await cluster.redis.request("SAVE")) !== "OK") throw new Error("Redis did not save");
const options = ["--inserts", "--no-owner", "--no-privileges", cluster.postgres.url];
const dump = execFileSync("pg_dump", options, { encoding: "utf8", maxBuffer: 2 ** 28 });
const sql = dump
  .split("\n")
  .filter((line) => !PSQL_COMMAND.test(line))
  .join("\n");
const end = { what: "a fan of messages", id: fan.invocationId, status: "completed", value: FAN };
write("cluster.v1.json", Buffer.from(`${JSON.stringify({ ...facts, ends: [...facts.ends, end], outboxCount }, undefined, 1)}\n`));
const files = new Map<string, Uint8Array>([
  ["redis/dump.rdb", readFileSync(join(cluster.redis.directory, "dump.rdb"))],
  ["postgres.sql", Buffer.from(sql)],
]);
write("cluster.v1.files.br", packFiles(files));
write("cluster.v1.rows.br", packFiles(new Map([["rows.json", Buffer.from(JSON.stringify(rows))]])));
console.log(
  `${rows.length} rows, ${outboxCount} of them messages; ${(sql.match(/INTO public.perdure_archive /g) ?? []).length} archived`,
);

function write(name: string, bytes: Buffer): void {
  writeFileSync(join(results, name), bytes);
  console.log(`${name}: ${bytes.length} bytes`);
}
