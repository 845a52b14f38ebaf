/** The real operator, killed in the middle of a deletion: at each step another one continues from what is there, and does nothing twice. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { eventually } from "./eventually.js";
import { bundleOperator, OperatorProgram } from "./program.js";
import { playStorage, type Storage } from "./storage.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;

let postgres: PostgresServer;
let world: World;
let storage: Storage;
let program: OperatorProgram;

beforeAll(async () => {
  await bundleOperator();
  postgres = await startPostgres();
  world = await World.start({ postgresUrl: postgres.url });
  storage = await playStorage(world.kubernetes, world.client);
  await storage.defineSnapshots();
  program = await OperatorProgram.start({
    "node-name": "mortal",
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
}, FIRST_MS);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
}, TEST_MS);

/** Kills the operator and starts another one. */
async function killed(): Promise<void> {
  await program.kill();
  await program.startAgain();
}

const deletingAs = (name: string, reason: string) => world.until(name, (one) => conditionOf(one, "Deleting")?.reason === reason);

test(
  "a deletion that keeps a snapshot: while workers end, while the snapshot is taken, while the namespace is deleted",
  async () => {
    const made = await world.create({
      redis: { bundled: { storageClassName: "grows" } },
      workers: { replicas: 2 },
      reclaimPolicy: "Snapshot",
    });
    await world.untilReady(made);
    const { name } = made.metadata;
    // Whatever holds the namespace, as finalizers of others do.
    const held = { name: "held", namespace: name, finalizers: ["example.org/held"] };
    await world.client.create({ apiVersion: "v1", kind: "ConfigMap", metadata: held });
    world.kubelet.holdEnds(true);
    storage.holdSnapshots(true);
    await world.delete(made);

    await deletingAs(name, "Draining");
    await killed();
    expect((await world.client.get(resources.statefulSets, "redis", name))["spec"]).toMatchObject({ replicas: 1 });
    world.kubelet.holdEnds(false);

    await deletingAs(name, "Snapshotting");
    const snapshots = async (): Promise<readonly (string | undefined)[]> =>
      (await world.client.list(resources.volumeSnapshots, { namespace: name })).items.map(({ metadata }) => metadata.uid);
    await eventually(async () => (await snapshots()).length === 1);
    const [snapshot] = await snapshots();
    await killed();
    expect(await world.client.find(resources.namespaces, name)).toBeDefined();
    storage.holdSnapshots(false);

    await deletingAs(name, "Deleting");
    const reason = /example\.org\/held in 1 resource instances/;
    await world.until(name, (one) => reason.test(conditionOf(one, "Deleting")?.message ?? ""));
    await killed();
    const operations = [{ op: "remove", path: "/metadata/finalizers" }] as const;
    await world.client.patch(resources.configMaps, { name: "held", namespace: name }, operations);
    await world.until(name, (one) => one === undefined);

    expect(await world.client.find(resources.namespaces, name)).toBeUndefined();
    const note = await world.client.get(resources.configMaps, `retained-${name}`, OPERATOR_NAMESPACE);
    expect(note["data"]).toMatchObject({ uid: made.metadata.uid, snapshotId: `snapcontent-${snapshot}` }); // The first one, and no second.
    const content = await world.client.get<KubeObject>(resources.snapshotContents, `snapcontent-${snapshot}`);
    expect(content["spec"]).toMatchObject({ deletionPolicy: "Retain" });
  },
  TEST_MS,
);

test(
  "a deletion that keeps volumes: whenever it is killed, everything is kept in the end",
  async () => {
    const made = await world.create({ redis: { bundled: { storageClassName: "grows" } } });
    await world.untilReady(made);
    const { name } = made.metadata;
    const claim = await world.client.get(resources.volumeClaims, "data-redis-0", name);
    world.kubelet.holdEnds(true);
    await world.delete(made);
    await deletingAs(name, "Draining");
    world.kubelet.holdEnds(false);
    await eventually(async () => world.kubelet.pods(name).length === 0);
    await killed(); // Anywhere between the last pod and the finalizer.
    await world.until(name, (one) => one === undefined);
    const volume = await world.client.get(resources.volumes, `pv-${claim.metadata.uid}`);
    expect(volume["spec"]).toMatchObject({ persistentVolumeReclaimPolicy: "Retain" });
    expect(await world.client.find(resources.configMaps, `retained-${name}`, OPERATOR_NAMESPACE)).toBeDefined();
    expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();
  },
  TEST_MS,
);
