import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, type Resource, resources } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { BUNDLED, environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { runtimeSettings } from "../desired/runtime-config.js";
import { keepVolumes, releaseVolumes, VolumeRetention } from "./retained-volumes.js";
import { type VolumesResult, volumesStep } from "./volumes-step.js";

type VolumeRecord = VolumesResult["records"][number];

const SIGNAL = new AbortController().signal;
const NAMESPACE = "env-0123456789";

interface Written {
  readonly kind: string;
  readonly name: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** Claims are bound to volumes of their own; a class gave these the policy `Delete`. */
function aCluster(environment: EnvironmentResource) {
  const claims = new Map<string, KubeObject>();
  const volumes = new Map<string, KubeObject>();
  const written: Written[] = [];
  const reasons: string[] = [];
  let redis: KubeObject | undefined;
  const client = {
    find: async ({ plural }: Resource, name: string) => (plural === "persistentvolumes" ? volumes.get(name) : claims.get(name)),
    list: async () => ({ items: [...claims.values()] }),
    apply: async (object: KubeObject) => {
      const { kind, metadata } = object;
      written.push({ kind, name: metadata.name, object });
      if (kind === "PersistentVolume") {
        const before = volumes.get(metadata.name) as KubeObject;
        const spec = { ...(before["spec"] as object), ...(object["spec"] as object) };
        volumes.set(metadata.name, { ...before, metadata: { ...before.metadata, ...metadata }, spec });
      } else redis = { ...(redis as KubeObject), spec: object["spec"] };
      return object;
    },
  } as unknown as KubernetesClient;
  const clock = new VirtualClock();
  const cached = { volumeClaims: { get: (name: string) => claims.get(name) }, statefulSets: { get: () => redis } };
  const ports = {
    client,
    caches: cached as never,
    applier: { discardObject: () => {} },
    clock,
    events: { record: async (_: KubeObject, { reason }: { readonly reason: string }) => void reasons.push(reason) } as never,
    retention: new VolumeRetention(clock),
  };
  return {
    claims,
    volumes,
    written,
    reasons,
    client,
    clock,
    bind(claim: string, volume: string, uid = `uid-of-${volume}`): void {
      const metadata = { name: claim, namespace: NAMESPACE };
      claims.set(claim, { ...resources.volumeClaims, metadata, spec: { volumeName: volume }, status: { phase: "Bound" } });
      const spec = { persistentVolumeReclaimPolicy: "Delete", claimRef: { name: claim, namespace: NAMESPACE } };
      if (!volumes.has(volume)) volumes.set(volume, { ...resources.volumes, metadata: { name: volume, uid }, spec });
    },
    runRedis(): void {
      redis = { ...resources.statefulSets, metadata: { name: "redis", namespace: NAMESPACE, uid: "s" }, spec: { replicas: 1 } };
    },
    run: (changes: Partial<EnvironmentResource["spec"]> = {}, records: readonly VolumeRecord[] = []) =>
      volumesStep(
        { ...environment, spec: { ...environment.spec, ...changes }, status: { data: { present: true, volumes: [...records] } } },
        ports,
        SIGNAL,
      ),
    specOf: (volume: string) => volumes.get(volume)?.["spec"] as { readonly persistentVolumeReclaimPolicy: string },
  };
}

const ONE: VolumeRecord = { claim: "data-redis-0", volume: "pv-1", uid: "uid-of-pv-1" };

test("a volume outlives its claim from the moment that it is bound, and is checked again only after a while", async () => {
  const cluster = aCluster(environmentWith());
  expect(await cluster.run()).toMatchObject({ records: [], isLost: false, outcome: { observation: { status: "True" } } });
  cluster.bind("data-redis-0", "pv-1");
  expect((await cluster.run()).records).toEqual([ONE]);
  expect(cluster.volumes.get("pv-1")?.metadata).toMatchObject({
    labels: { "perdure.dev/environment": "0123456789" },
    annotations: { "perdure.dev/reclaim-policy-before": "Delete" },
  });
  expect(cluster.specOf("pv-1").persistentVolumeReclaimPolicy).toBe("Retain");
  expect((await cluster.run({}, [ONE])).records).toEqual([ONE]);
  expect(cluster.written).toHaveLength(1);
  cluster.volumes.set("pv-1", {
    ...(cluster.volumes.get("pv-1") as KubeObject),
    spec: { ...cluster.specOf("pv-1"), persistentVolumeReclaimPolicy: "Delete" },
  });
  cluster.clock.advanceBy(600_000);
  await cluster.run({}, [ONE]);
  expect(cluster.specOf("pv-1").persistentVolumeReclaimPolicy).toBe("Retain");
});

test("another volume in place of the recorded one stops Redis until the very loss is accepted, and workers then have a new incarnation", async () => {
  const cluster = aCluster(environmentWith());
  cluster.runRedis();
  cluster.bind("data-redis-0", "pv-2");
  const lost = await cluster.run({}, [ONE]);
  expect(lost).toMatchObject({ isLost: true, records: [ONE], accepted: undefined });
  expect(lost.outcome.observation).toMatchObject({ status: "False", reason: "DataLost" });
  expect(lost.outcome.observation.message).toContain(`pv-1`);
  const mark = /acceptDataLoss: "(.+)"$/.exec(lost.outcome.observation.message)?.[1] ?? "";
  expect(mark).not.toBe("");
  const stops = () => cluster.written.filter(({ kind }) => kind === "StatefulSet").map(({ object }) => object["spec"]);
  expect(stops()).toEqual([{ replicas: 0 }]);
  await cluster.run({ acceptDataLoss: "another" }, [ONE]);
  expect(stops()).toHaveLength(1); // It is stopped.

  const accepted = await cluster.run({ acceptDataLoss: mark }, [ONE]);
  expect(accepted).toMatchObject({ isLost: true, records: [], accepted: { mark } });
  expect(cluster.reasons).toEqual(["DataLossAccepted"]);
  const environment = environmentWith();
  expect(runtimeSettings(environment, cell)).not.toHaveProperty(["worker.incarnation"]);
  const afterLoss = { ...environment, status: { data: { acceptedLoss: mark } } } as EnvironmentResource;
  expect(runtimeSettings(afterLoss, cell)).toHaveProperty(["worker.incarnation"], `uid-1-${mark}`);
  // From then on the new one is what counts.
  const two = { claim: "data-redis-0", volume: "pv-2", uid: "uid-of-pv-2" };
  expect(await cluster.run({ acceptDataLoss: mark }, [])).toMatchObject({ isLost: false, records: [two] });
  cluster.claims.clear();
  expect(await cluster.run({ acceptDataLoss: mark }, [two])).toMatchObject({ isLost: true, accepted: undefined });
});

test("a volume of the same name with another uid is another one; a claim whose volume is gone is not bound", async () => {
  const cluster = aCluster(environmentWith());
  cluster.bind("data-redis-0", "pv-1", "uid-of-a-later-one");
  expect(await cluster.run({}, [ONE])).toMatchObject({ isLost: true });
  const gone = aCluster(environmentWith());
  gone.bind("data-redis-0", "pv-1");
  gone.claims.set("data-redis-0", { ...(gone.claims.get("data-redis-0") as KubeObject), status: { phase: "Lost" } });
  expect(await gone.run({}, [ONE])).toMatchObject({ isLost: true });
});

test("once the volume is bound again, Redis starts without further action", async () => {
  const cluster = aCluster(environmentWith());
  expect(await cluster.run({}, [ONE])).toMatchObject({ isLost: true });
  cluster.bind("data-redis-0", "pv-1");
  expect(await cluster.run({}, [ONE])).toMatchObject({
    isLost: false,
    records: [ONE],
    outcome: { observation: { status: "True" } },
  });
});

test("of three Redis one volume is enough", async () => {
  const replicated = environmentWith({ redis: { bundled: { ...BUNDLED, mode: "replicated" } } });
  const cluster = aCluster(replicated);
  const records = [0, 1, 2].map((n) => ({ claim: `data-redis-${n}`, volume: `pv-${n}`, uid: `uid-of-pv-${n}` }));
  cluster.bind("data-redis-2", "pv-2");
  expect(await cluster.run({}, records)).toMatchObject({ isLost: false, records: [records[2]] });
  cluster.claims.clear();
  expect(await cluster.run({}, records)).toMatchObject({ isLost: true });
});

test("a claim that is being deleted is reported while its pod still holds it", async () => {
  const cluster = aCluster(environmentWith());
  cluster.bind("data-redis-0", "pv-1");
  const claim = cluster.claims.get("data-redis-0") as KubeObject;
  cluster.claims.set("data-redis-0", { ...claim, metadata: { ...claim.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
  expect((await cluster.run({}, [ONE])).problems).toEqual([expect.objectContaining({ type: "DataAtRisk", status: "True" })]);
});

test("a deleted environment keeps its volumes, or returns them to the policy of their class; other volumes are not touched", async () => {
  const environment: EnvironmentResource = { ...environmentWith(), status: { data: { volumes: [ONE] } } };
  const cluster = aCluster(environment);
  cluster.bind("data-redis-0", "pv-1");
  await cluster.run();
  cluster.claims.clear(); // Its namespace was deleted by hand.
  expect(await keepVolumes(environment, cluster.client, SIGNAL)).toEqual({ claims: [], volumes: ["pv-1"] });
  expect(cluster.volumes.get("pv-1")?.metadata.labels).toMatchObject({ "perdure.dev/retained-from": NAMESPACE });
  await releaseVolumes(environment, cluster.client, SIGNAL);
  expect(cluster.specOf("pv-1").persistentVolumeReclaimPolicy).toBe("Delete");

  const foreign = aCluster(environment);
  const spec = { persistentVolumeReclaimPolicy: "Delete", claimRef: { namespace: "theirs" } };
  foreign.volumes.set("pv-1", { ...resources.volumes, metadata: { name: "pv-1", uid: "u" }, spec });
  await keepVolumes(environment, foreign.client, SIGNAL);
  await releaseVolumes(environment, foreign.client, SIGNAL);
  expect(foreign.written).toEqual([]);
});
