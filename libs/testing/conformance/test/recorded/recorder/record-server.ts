/**
 * How `testdata/server.v1.*` were made, once, from the last commit before version 0.1.0 (ba929c1), with the bundles of that commit:
 *
 *     PERDURE_CONFORMANCE_EXECUTABLE=<build of ba929c1>/perdure node deploy/run-ts.mjs \
 *       libs/testing/conformance/test/recorded/recorder/record-server.ts <directory for the results>
 *
 * A `perdure server` with a busy world is killed while a handler sends to many objects. One process applies such a send in the batch of its
 * sender, so there are no pending messages of an outbox; the recording of a cluster has some. Never run it again over those files:
 * a new version of the stored forms gets a recording of its own.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLevelKeyValue } from "@perdure/leveldb";
import { KvPartitionStore, storedPartitions } from "@perdure/storage";
import { SdkEndpoint, Server, TestAdminClient, TestIngressClient, temporaryDirectory } from "../../../src/index.js";
import { makeBusyWorld } from "../busy-world.js";
import { filesOf, packFiles } from "../packed.js";
import { recordedServices } from "../services.js";
import { SERVER_SETTINGS } from "../settings.js";
import { storedRows } from "../stored-rows.js";

const FAN = 300;
/** Messages that have arrived when the server is killed. */
const ARRIVED = 40;

const [results = "."] = process.argv.slice(2);
const baseDir = temporaryDirectory();
let arrived = 0;
let kill: (() => void) | undefined;
await using endpoint = await SdkEndpoint.start({
  services: recordedServices,
  onRequest: (path) => {
    if (kill !== undefined && path.endsWith("Tally/add") && ++arrived === ARRIVED) kill();
  },
});
const server = await Server.start({ baseDir, settings: SERVER_SETTINGS });
using admin = new TestAdminClient(server.adminUrl);
using ingress = new TestIngressClient(server.ingressUrl);
const deploymentId = await admin.register({ uri: endpoint.url });
const facts = await makeBusyWorld({ ingress, admin, deploymentId }, FAN);
const killed = new Promise<void>((resolve, reject) => {
  kill = () => server.kill().then(() => resolve(), reject);
});
const fan = await ingress.send(["Errand", "fan"], { name: facts.fan.name, count: FAN });
await killed;
const files = filesOf(baseDir);

// Read from a copy that is opened as a store: the recorded files stay as the kill left them.
const kv = await openLevelKeyValue(server.databases.partitions);
const store = new KvPartitionStore(kv);
const rows = await storedRows(store, storedPartitions(kv).partitionCount);
await store[Symbol.asyncDispose]();
rmSync(baseDir, { recursive: true, force: true });
const end = { what: "a fan of messages", id: fan.invocationId, status: "completed", value: FAN };
const outboxCount = rows.filter(({ table }) => table === "outbox").length;
write("server.v1.json", Buffer.from(`${JSON.stringify({ ...facts, ends: [...facts.ends, end], outboxCount }, undefined, 1)}\n`));
write("server.v1.files.br", packFiles(files));
write("server.v1.rows.br", packFiles(new Map([["rows.json", Buffer.from(JSON.stringify(rows))]])));
console.log(`${rows.length} rows, ${outboxCount} of them messages`);

function write(name: string, bytes: Buffer): void {
  writeFileSync(join(results, name), bytes);
  console.log(`${name}: ${bytes.length} bytes`);
}
