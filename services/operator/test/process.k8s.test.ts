/** The real program, killed and stopped in the middle of its work, alone and beside another. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { type KubernetesServer, type PostgresServer, startKubernetes, startPostgres } from "@perdure/servers";
import { OPERATOR_USER } from "./cell.js";
import { eventually } from "./eventually.js";
import { bundleOperator, OperatorProgram } from "./program.js";
import { defineAll, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const ENVIRONMENTS = 12;
const KILLS = 4;

let postgres: PostgresServer;
let kubernetes: KubernetesServer;
let world: World;
let programs: OperatorProgram[] = [];

beforeAll(async () => {
  await bundleOperator();
  postgres = await startPostgres();
  kubernetes = await startKubernetes({ users: { [OPERATOR_USER]: [] } });
  world = await World.start({ withDefinitions: false, postgresUrl: postgres.url, kubernetes });
}, FIRST_MS);
afterEach(async () => {
  for (const program of programs) await program[Symbol.asyncDispose]();
  programs = [];
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
}, TEST_MS);

async function launch(name: string): Promise<OperatorProgram> {
  const program = await OperatorProgram.start({
    "node-name": name,
    "cell.region": "eu",
    "cell.domain": "example.org",
    "kubernetes.kubeconfig-file": await world.kubernetes.kubeconfigFile(),
    "images.registry": "images.example.org/perdure",
    "postgres.secret-name": "postgres",
    "reconcile.per-second": 500,
    "leadership.lease": "3s",
    "leadership.renew-within": "2s",
    "leadership.retry": "200ms",
  });
  programs.push(program);
  return program;
}

const untilServing = (program: OperatorProgram): Promise<void> =>
  eventually(async () => (await program.probe()).startsWith("200 "));

async function leader(): Promise<string> {
  const lease = await world.client.find(resources.leases, "perdure-operator", OPERATOR_NAMESPACE);
  return (lease?.["spec"] as { readonly holderIdentity?: string } | undefined)?.holderIdentity ?? "";
}

test(
  "without its definitions it is not ready and reports why; when they are installed it continues",
  async () => {
    const program = await launch("first");
    await eventually(async () => (await program.probe()).includes("the definition of environments"));
    expect(await program.probe()).toMatch(/^503 /);
    await defineAll(world.client);
    await untilServing(program);
    expect(await program.probe()).toMatch(/^200 /);
    await world.untilReady(await world.create());
    expect(await program.stop()).toBe(0);
    expect(await leader()).toBe("");
  },
  TEST_MS,
);

test(
  "killed again and again while it makes environments, it makes each of them, and nothing twice",
  async () => {
    const program = await launch("one");
    const made = await Promise.all(Array.from({ length: ENVIRONMENTS }, () => world.create({ workers: { replicas: 1 } })));
    const names = made.map(({ metadata }) => metadata.name);
    const keys = new Map<string, string>();
    const noteKeys = async (): Promise<void> => {
      for (const name of names) {
        const key = await world.client.find<KubeObject>(resources.secrets, "signing-key", name);
        const { uid = "", resourceVersion = "" } = key?.metadata ?? {};
        if (key !== undefined) expect(keys.get(name) ?? `${uid} ${resourceVersion}`).toBe(`${uid} ${resourceVersion}`);
        if (key !== undefined) keys.set(name, `${uid} ${resourceVersion}`);
      }
    };
    for (let kill = 1; kill <= KILLS; kill++) {
      // As soon as there is a little more than the last time.
      const before = keys.size;
      await eventually(async () => {
        await noteKeys();
        return keys.size > before || keys.size === names.length;
      });
      await program.kill();
      await program.startAgain();
    }
    for (const one of made) await world.untilReady(one, TEST_MS / 2);
    await noteKeys();
    expect(keys.size).toBe(names.length);
  },
  TEST_MS,
);

test(
  "of two one leads; killed, the other takes over when the lease has ended; stopped, at once",
  async () => {
    const [one, two] = [await launch("left"), await launch("right")];
    await Promise.all([untilServing(one), untilServing(two)]);
    await eventually(async () => ["left", "right"].includes(await leader()));
    const first = await leader();
    const [leading, waiting] = first === "left" ? [one, two] : [two, one];
    await leading.kill();
    const orphan = await world.create();
    await world.untilReady(orphan);
    expect(await leader()).not.toBe(first);

    await leading.startAgain();
    await untilServing(leading);
    const second = await leader();
    await waiting.stop();
    await eventually(async () => (await leader()) !== second && (await leader()) !== "");
    expect(await leader()).toBe(first);
  },
  TEST_MS,
);

test(
  "an API server that stops and starts again is waited for",
  async () => {
    const program = await launch("patient");
    await untilServing(program);
    await world.untilReady(await world.create());
    await kubernetes.apiServer.kill();
    await kubernetes.apiServer.startAgain();
    await world.untilReady(await world.create(), TEST_MS / 2);
    expect(program.isRunning).toBe(true);
  },
  TEST_MS,
);
