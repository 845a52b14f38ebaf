/**
 * A namespace that is deleted by hand must not lose data or key unnoticed: nothing starts over without explicit consent. Storage is
 * simulated.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventsOf, eventually } from "./eventually.js";
import { playStorage, type Storage } from "./storage.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
let storage: Storage;

beforeAll(async () => {
  world = await World.start();
  storage = await playStorage(world.kubernetes, world.client);
  world.startOperator();
}, FIRST_MS);
afterAll(async () => {
  await storage?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

const reasonOf = (environment: EnvironmentResource | undefined, type: string): string | undefined =>
  conditionOf(environment, type)?.reason;
const markOf = (environment: EnvironmentResource, type: string): string =>
  /acceptDataLoss: "(\w+)"/.exec(conditionOf(environment, type)?.message ?? "")?.[1] ?? "";

/** Ready, with a volume; then its namespace is deleted by hand, and the operator has detected that. */
async function deletedByHand() {
  const made = await world.create({ redis: { bundled: { storageClassName: "grows" } } });
  const { name } = made.metadata;
  await world.untilReady(made);
  const ready = await world.until(name, (one) => one?.status?.data?.volumes?.length === 1);
  const key = await world.client.get(resources.secrets, "signing-key", name);
  await world.client.delete(resources.namespaces, name, undefined);
  const lost = await world.until(name, (one) => reasonOf(one, "StorageReady") === "DataLost");
  return { made, name, ready, key, lost };
}

const volumeOf = ({ status }: EnvironmentResource): string => status?.data?.volumes?.[0]?.volume ?? "";
const policyOf = async (volume: string): Promise<unknown> =>
  ((await world.client.get(resources.volumes, volume))["spec"] as KubeObject)["persistentVolumeReclaimPolicy"];

test(
  "it stops with both reasons, creates no Redis and no key, and continues with the old ones when they are restored",
  async () => {
    const { made, name, ready, key, lost } = await deletedByHand();
    expect(ready.status?.signingKey?.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(await policyOf(volumeOf(ready))).toBe("Retain");
    expect(reasonOf(lost, "Accepted")).toBe("SigningKeyLost");
    expect(conditionOf(lost, "Ready")).toMatchObject({ status: "False", reason: "SigningKeyLost" });
    expect(lost.status?.data?.present).toBe(false);
    expect(lost.status?.signingKey).toEqual(ready.status?.signingKey);
    expect(await world.client.find(resources.statefulSets, "redis", name)).toBeUndefined();
    expect(await world.client.find(resources.secrets, "signing-key", name)).toBeUndefined();
    for (const reason of ["DataLost", "SigningKeyLost"])
      await eventually(async () => (await eventsOf(world, made, reason)).length > 0);

    const { apiVersion, kind, metadata } = key;
    await world.client.create({ apiVersion, kind, metadata: { name: metadata.name, namespace: name }, data: key["data"] });
    const claim = { accessModes: ["ReadWriteOnce"], volumeName: volumeOf(ready), resources: { requests: { storage: "10Gi" } } };
    await world.client.create({
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data-redis-0", namespace: name } },
      spec: claim,
    });
    const again = await world.untilReady(made);
    expect(again.status?.signingKey).toEqual(ready.status?.signingKey);
    expect(again.status?.data).toMatchObject({ present: true, volumes: ready.status?.data?.volumes });
    expect(again.status?.acceptedDataLoss).toBeUndefined();
  },
  TEST_MS,
);

test(
  "it starts over when the spec accepts the loss of each by its mark, and reports that",
  async () => {
    const { made, name, ready, lost } = await deletedByHand();
    const [keyMark, dataMark] = [markOf(lost, "Accepted"), markOf(lost, "StorageReady")];
    expect(keyMark).toBe(ready.status?.signingKey?.fingerprint);
    await world.change(made, { acceptDataLoss: keyMark });
    const withKey = await world.until(name, (one) => reasonOf(one, "Accepted") === "Accepted");
    expect(withKey.status?.signingKey?.publicKeys).not.toEqual(ready.status?.signingKey?.publicKeys);
    expect(conditionOf(withKey, "Ready")).toMatchObject({ status: "False", reason: "DataLost" });
    expect(await world.client.find(resources.statefulSets, "redis", name)).toBeUndefined();

    await world.change(made, { acceptDataLoss: dataMark });
    await world.untilReady(made);
    const again = await world.until(name, (one) => one?.status?.data?.volumes?.length === 1);
    expect(volumeOf(again)).not.toBe(volumeOf(ready));
    expect(again.status).toMatchObject({ acceptedDataLoss: { mark: dataMark }, data: { present: true, acceptedLoss: dataMark } });
    expect(reasonOf(again, "DataLossAccepted")).toBe("Accepted");
    expect(await policyOf(volumeOf(ready))).toBe("Retain");
    const config = await world.client.get(resources.configMaps, "runtime-config", name);
    expect(config["data"]).toMatchObject({ PERDURE_WORKER__INCARNATION: `${made.metadata.uid}-${dataMark}` });
    await eventually(async () => (await eventsOf(world, made, "DataLossAccepted")).length === 2);
  },
  TEST_MS,
);

test(
  "a signing key that is replaced by hand does not count as a rotation",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    const ready = await world.untilReady(made);
    const other = await world.create();
    await world.untilReady(other);
    const foreign = await world.client.get(resources.secrets, "signing-key", other.metadata.name);
    const path = `/api/v1/namespaces/${name}/secrets/signing-key`;
    expect(await world.kubernetes.request({ method: "PATCH", path, body: { data: foreign["data"] } })).toMatchObject({
      status: 200,
    });
    await world.change(made, { limits: { concurrentInvocations: 7 } }); // Secrets of environments are not watched.
    const lost = await world.until(name, (one) => reasonOf(one, "Accepted") === "SigningKeyLost");
    expect(lost.status?.signingKey).toEqual(ready.status?.signingKey);
    const workers = JSON.stringify(await world.client.get(resources.statefulSets, "worker", name));
    await world.change(made, { acceptDataLoss: markOf(lost, "Accepted") });
    await world.until(name, (one) => reasonOf(one, "Accepted") === "Accepted");
    await eventually(async () => JSON.stringify(await world.client.get(resources.statefulSets, "worker", name)) !== workers);
  },
  TEST_MS,
);
