/** What becomes of data: volumes that grow, backups, and what a deletion leaves behind. Storage is played. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { Metrics } from "@perdure/telemetry";
import { cell } from "./cell.js";
import { eventually } from "./eventually.js";
import { playStorage, type Storage } from "./storage.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
let storage: Storage;
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start();
  storage = await playStorage(world.kubernetes, world.client);
  world.startOperator({ cell: { ...cell, deletionStuckMs: 0 } }, metrics);
}, FIRST_MS);
afterAll(async () => {
  await storage[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
}, TEST_MS);

const bundled = (more: Readonly<Record<string, unknown>> = {}) => ({
  redis: { bundled: { storageClassName: "grows", ...more } },
});
const specOf = (object: KubeObject | undefined) => object?.["spec"] as Readonly<Record<string, never>>;
const podUids = (namespace: string): string[] =>
  world.kubelet
    .pods(namespace)
    .filter(({ metadata }) => metadata.name.startsWith("redis-"))
    .map(({ metadata }) => metadata.uid ?? "");

describe("a volume", () => {
  test(
    "grows under pods that continue: the claims first, then the StatefulSet around them",
    async () => {
      const made = await world.create(bundled());
      await world.untilReady(made);
      const namespace = made.metadata.name;
      const set = await world.client.get(resources.statefulSets, "redis", namespace);
      const uids = podUids(namespace);
      storage.holdGrowth(true);
      await world.change(made, bundled({ size: "20Gi" }));
      const growing = await world.until(namespace, (one) => conditionOf(one, "StorageReady")?.reason === "Resizing");
      expect(growing.status?.data?.volumeSize).toBe("20Gi");
      const claim = await world.client.get(resources.volumeClaims, "data-redis-0", namespace);
      expect(specOf(claim)).toMatchObject({ resources: { requests: { storage: "20Gi" } } });
      expect((await world.client.get(resources.statefulSets, "redis", namespace)).metadata.uid).toBe(set.metadata.uid);

      storage.holdGrowth(false);
      await eventually(async () => {
        const again = await world.client.find(resources.statefulSets, "redis", namespace);
        return again !== undefined && again.metadata.uid !== set.metadata.uid;
      });
      await world.untilReady(made);
      expect(podUids(namespace)).toEqual(uids);
    },
    TEST_MS,
  );

  test(
    "whose class does not allow growth stays, and so does everything around it",
    async () => {
      const made = await world.create(bundled({ storageClassName: "fixed" }));
      await world.untilReady(made);
      const namespace = made.metadata.name;
      const set = await world.client.get(resources.statefulSets, "redis", namespace);
      await world.change(made, bundled({ storageClassName: "fixed", size: "20Gi" }));
      const refused = await world.until(namespace, (one) => conditionOf(one, "StorageReady")?.reason === "ResizeFailed");
      expect(conditionOf(refused, "StorageReady")?.message).toMatch(
        /only dynamically provisioned pvc can be resized|must support resize/i,
      );
      expect((await world.client.get(resources.statefulSets, "redis", namespace)).metadata.uid).toBe(set.metadata.uid);
      const claim = await world.client.get(resources.volumeClaims, "data-redis-0", namespace);
      expect(specOf(claim)).toMatchObject({ resources: { requests: { storage: "10Gi" } } });
    },
    TEST_MS,
  );
});

describe("backups", () => {
  test(
    "are reported as impossible where the cluster has no snapshots, and begin when it has",
    async () => {
      const made = await world.create({ ...bundled(), backup: { schedule: "every 1s", keep: 2 } });
      const without = await world.until(made.metadata.name, (one) => conditionOf(one, "BackupUnavailable") !== undefined);
      expect(conditionOf(without, "BackupUnavailable")).toMatchObject({ status: "True", reason: "NoSnapshots" });
      await world.untilReady(made); // Nothing else is held up.

      await storage.defineSnapshots();
      // Users who install the snapshot API need not wait for the next check: any change triggers one.
      await touch(made);
      const withSnapshot = await world.until(made.metadata.name, (one) => one?.status?.data?.lastSnapshotId !== undefined);
      expect(conditionOf(withSnapshot, "BackupUnavailable")).toBeUndefined();
      const first = withSnapshot.status?.data?.lastSnapshotId;
      await world.until(made.metadata.name, (one) => one?.status?.data?.lastSnapshotId !== first);
      await eventually(async () => {
        const { status } = await world.client.get<EnvironmentResource>(resources.environments, made.metadata.name);
        // A snapshot is due every second, so this one may be pruned by now.
        const content = await world.client.find(resources.snapshotContents, status?.data?.lastSnapshotId ?? "");
        if (content === undefined) return false;
        expect(content.metadata.labels).toMatchObject({ "perdure.dev/account": made.spec.accountId });
        return true;
      });
      await eventually(async () => {
        const { items } = await world.client.list(resources.volumeSnapshots, { namespace: made.metadata.name });
        expect(items.length).toBeLessThanOrEqual(4);
        return world.client.find(resources.snapshotContents, first ?? "").then((content) => content === undefined);
      });
      expect(metrics.text()).toMatch(/perdure_operator_snapshot_age_seconds \d/);
      await world.change(made, { backup: null });
    },
    TEST_MS,
  );

  test(
    "that cannot be: a schedule that is none",
    async () => {
      const made = await world.create({ ...bundled(), backup: { schedule: "sometimes" } });
      const updated = await world.until(made.metadata.name, (one) => conditionOf(one, "BackupUnavailable") !== undefined);
      expect(conditionOf(updated, "BackupUnavailable")).toMatchObject({ reason: "InvalidSchedule" });
    },
    TEST_MS,
  );
});

async function touch({ metadata }: EnvironmentResource): Promise<void> {
  const body = { metadata: { labels: { touched: "yes" } } };
  await world.kubernetes.request({ method: "PATCH", path: `/apis/perdure.dev/v1alpha1/environments/${metadata.name}`, body });
}

describe("deleted with reclaimPolicy", () => {
  test(
    "Snapshot, the last state is kept as a snapshot before anything is deleted; the same id starts from it again, as a new environment",
    async () => {
      const made = await world.create({ ...bundled(), reclaimPolicy: "Snapshot" });
      await world.untilReady(made);
      const { name } = made.metadata;
      storage.holdSnapshots(true);
      await world.delete(made);
      // The storage driver is an external system: while it does not respond, no step is skipped.
      const stuck = await world.until(name, (one) => conditionOf(one, "Deleting")?.reason === "Snapshotting");
      expect(conditionOf(stuck, "DeletionStuck")).toMatchObject({ status: "True", reason: "Waiting" });
      expect(metrics.text()).toMatch(/perdure_operator_oldest_deletion_seconds \d/);
      expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();
      expect(world.kubelet.pods(name)).toEqual([]);
      storage.holdSnapshots(false);
      await world.until(name, (one) => one === undefined);
      expect(await world.client.find(resources.namespaces, name)).toBeUndefined();
      const note = await world.client.get(resources.configMaps, `retained-${name}`, OPERATOR_NAMESPACE);
      const { snapshotId } = note["data"] as { readonly snapshotId: string };
      const content = await world.client.get(resources.snapshotContents, snapshotId);
      expect(specOf(content)).toMatchObject({ deletionPolicy: "Retain" });

      const id = made.spec.environmentId;
      const otherAccount = await world.create({
        ...bundled(),
        accountId: "acc_strangers",
        backup: { restoreFrom: { snapshotId } },
      });
      const turnedAway = await world.until(
        otherAccount.metadata.name,
        (one) => conditionOf(one, "StorageReady")?.reason === "InvalidReference",
      );
      expect(conditionOf(turnedAway, "StorageReady")?.message).toBe(`there is no snapshot ${snapshotId}`);

      const another = await world.create({ ...bundled(), backup: { restoreFrom: { snapshotId } } });
      const mistaken = await world.until(
        another.metadata.name,
        (one) => conditionOf(one, "StorageReady")?.reason === "InvalidReference",
      );
      expect(conditionOf(mistaken, "StorageReady")?.message).toMatch(`is of ${id}; only an environment of the same id`);

      const again = await world.create({ ...bundled(), backup: { restoreFrom: { snapshotId } } }, id);
      await world.untilReady(again);
      const claim = await world.client.get(resources.volumeClaims, "data-redis-0", name);
      expect(specOf(claim)).toMatchObject({ dataSource: { kind: "VolumeSnapshot", name: "restore" } });
      const config = await world.client.get(resources.configMaps, "runtime-config", name);
      expect(config["data"]).toMatchObject({ PERDURE_WORKER__INCARNATION: again.metadata.uid });
    },
    TEST_MS,
  );

  test(
    "Delete, the right to remove a namespace is given only then and only there",
    async () => {
      const made = await world.create({ ...bundled(), reclaimPolicy: "Delete", deletionProtection: false });
      await world.untilReady(made);
      const { name } = made.metadata;
      const bindings = async () => (await world.client.list(resources.roleBindings, { namespace: name })).items;
      expect((await bindings()).map(({ metadata }) => metadata.name)).toEqual(["operator-secrets"]);
      const path = `/api/v1/namespaces/${name}`;
      expect(await world.kubernetes.request({ method: "DELETE", path }, "perdure-operator")).toMatchObject({ status: 403 });
      await world.delete(made);
      await world.until(name, (one) => one === undefined);
      expect(await world.client.find(resources.namespaces, name)).toBeUndefined();
    },
    TEST_MS,
  );

  // Last: collectors of garbage learn only after half a minute of kinds that were defined just now.
  test(
    "Retain, volumes stay for good and a note lists them, and what the environment owned is collected",
    async () => {
      const made = await world.create(bundled());
      await world.untilReady(made);
      const { name } = made.metadata;
      const { metadata } = await world.client.get(resources.volumeClaims, "data-redis-0", name);
      await world.delete(made);
      await world.until(name, (one) => one === undefined);
      const volume = `pv-${metadata.uid}`;
      const kept = await world.client.get(resources.volumes, volume);
      expect(kept.metadata.labels).toMatchObject({ "perdure.dev/retained-from": name });
      expect(specOf(kept)).toMatchObject({ persistentVolumeReclaimPolicy: "Retain" });
      const note = await world.client.get(resources.configMaps, `retained-${name}`, OPERATOR_NAMESPACE);
      expect(note["data"]).toMatchObject({
        uid: made.metadata.uid,
        volumeClaims: "data-redis-0",
        volumes: volume,
        keyFingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      });
      await eventually(async () => {
        const lists = await Promise.all(
          [resources.statefulSets, resources.deployments, resources.services, resources.networkPolicies].map((resource) =>
            world.client.list(resource, { namespace: name }),
          ),
        );
        return lists.every(({ items }) => items.length === 0);
      });
      expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();
      expect(await world.client.find(resources.secrets, "signing-key", name)).toBeDefined();
    },
    TEST_MS,
  );
});
