/**
 * A leader that was frozen continues as leader at first. The audit log of the API server shows whether it wrote anything before it stopped.
 * Each program has a user of its own here, so that the log distinguishes them.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { type KubernetesServer, type PostgresServer, startKubernetes, startPostgres } from "@perdure/servers";
import { OPERATOR_USER } from "./cell.js";
import { eventually } from "./eventually.js";
import { bundleOperator, OperatorProgram } from "./program.js";
import { OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const LEASE_MS = 3_000;
const ENVIRONMENTS = 6;
const NAMES = ["left", "right"] as const;
type Name = (typeof NAMES)[number];

/** One line of the log for each write, when it has been answered. */
const AUDIT = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", verbs: ["create", "update", "patch", "delete", "deletecollection"] }, { level: "None" }],
};

interface Write {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly name?: string };
  readonly requestReceivedTimestamp: string;
}

let directory: string;
let postgres: PostgresServer;
let kubernetes: KubernetesServer;
let world: World;

beforeAll(async () => {
  await bundleOperator();
  directory = await mkdtemp(join(tmpdir(), "perdure-audit-"));
  await writeFile(join(directory, "policy.json"), JSON.stringify(AUDIT));
  postgres = await startPostgres();
  kubernetes = await startKubernetes({
    users: { [OPERATOR_USER]: [], ...Object.fromEntries(NAMES.map((name) => [name, ["system:masters"]])) },
    apiServerFlags: {
      "audit-policy-file": join(directory, "policy.json"),
      "audit-log-path": join(directory, "audit.log"),
      "audit-log-mode": "blocking",
    },
  });
  world = await World.start({ postgresUrl: postgres.url, kubernetes });
}, FIRST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
}, TEST_MS);

async function writesBy(name: Name): Promise<Write[]> {
  const lines = (await readFile(join(directory, "audit.log"), "utf8")).split("\n").filter((line) => line.endsWith("}"));
  return lines.map((line) => JSON.parse(line) as Write).filter(({ user }) => user.username === name);
}

async function launch(name: Name): Promise<OperatorProgram> {
  return OperatorProgram.start({
    "node-name": name,
    "cell.region": "eu",
    "cell.domain": "example.org",
    "kubernetes.kubeconfig-file": await world.kubernetes.kubeconfigFile(name),
    "images.registry": "images.example.org/perdure",
    "postgres.secret-name": "postgres",
    "reconcile.per-second": 500,
    "leadership.lease": `${LEASE_MS}ms`,
    "leadership.renew-within": "2s",
    "leadership.retry": "200ms",
  });
}

async function leader(): Promise<string> {
  const lease = await world.client.find<KubeObject>(resources.leases, "perdure-operator", OPERATOR_NAMESPACE);
  return (lease?.["spec"] as { readonly holderIdentity?: string } | undefined)?.holderIdentity ?? "";
}

test(
  "a leader that is frozen in the middle of its work and wakes up when another leads writes nothing more",
  async () => {
    await using left = await launch("left");
    await eventually(async () => (await leader()) === "left");
    await using right = await launch("right");
    await eventually(async () => (await right.probe()).startsWith("200 "));
    const made = await Promise.all(Array.from({ length: ENVIRONMENTS }, () => world.create({ workers: { replicas: 1 } })));
    // In the middle: it has begun with the first and cannot have finished with all.
    const names = new Set(made.map(({ metadata }) => metadata.name));
    const begun = async (): Promise<boolean> =>
      (await writesBy("left")).some(({ objectRef }) => objectRef?.resource === "namespaces" && names.has(objectRef.name ?? ""));
    await eventually(begun);
    // It waits for answers, which come while it is frozen: with each it would continue to the next thing to write.
    kubernetes.apiServer.freeze();
    for (let attempt = 1; attempt <= 3; attempt++) await left.probe();
    process.kill(left.pid, "SIGSTOP");
    kubernetes.apiServer.thaw();
    await eventually(async () => (await leader()) === "right");
    for (const one of made) await world.untilReady(one, TEST_MS / 2);
    expect((await writesBy("right")).length).toBeGreaterThan(ENVIRONMENTS);

    const before = (await writesBy("left")).length;
    const wokenAt = Date.now();
    process.kill(left.pid, "SIGCONT");
    await eventually(async () => (await left.probe()).startsWith("200 "));
    // Meanwhile there is a change to write, for any process that takes itself for the leader.
    const [first] = made;
    if (first === undefined) throw new Error("nothing was made");
    await world.change(first, { suspended: true });
    await world.until(first.metadata.name, (one) => one?.status?.phase === "Suspended");
    const later = (await writesBy("left")).slice(before);
    expect(later.filter(({ requestReceivedTimestamp: at }) => Date.parse(at) >= wokenAt)).toEqual([]);
    expect(await leader()).toBe("right");

    // It has not given up: when the other goes, it leads again.
    await right.stop();
    await eventually(async () => (await leader()) === "left");
    await world.untilReady(await world.create({ workers: { replicas: 1 } }));
  },
  TEST_MS,
);
