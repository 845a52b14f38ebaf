/**
 * Deletes an environment step by step. Each step reads the present state and can be repeated after a crash, and the data is deleted only on
 * explicit request (kubernetes.md §3.4):
 *
 * front stops ▸ workers end ▸ Redis ends ▸ data as requested ▸ namespace ▸ finalizer
 *
 * `Retain`: volumes are kept for good, a note in the operator's namespace lists what stayed, the namespace stays with volumes and key, and
 * the other objects of the environment are garbage-collected. `Snapshot`: the last state of the volume is kept as a snapshot, then as
 * `Delete`: the namespace is deleted, with a right that the operator gives itself there and only then.
 */
import { Secret } from "@perdure/base";
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { isForbidden, type KubeObject, type KubernetesClient, type MetadataOnly, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import type { Cell } from "../cell.js";
import { type Component, selectorOf } from "../desired/labels.js";
import { removalBinding } from "../desired/namespace.js";
import { primaryClaimOf } from "../desired/redis.js";
import { removeFinalizer } from "../finalizer.js";
import { WAIT_REFERENCE_MS, WAIT_SNAPSHOT_MS, WAIT_TERMINATING_MS } from "../limits.js";
import type { EnvironmentDatabases } from "./databases.js";
import { fingerprintOf } from "./key-loss.js";
import { goingMessage } from "./namespace-deletion.js";
import { noteNameOf, type RetainedNote, type RetainedNotes } from "./retained-notes.js";
import { keepVolumes, releaseVolumes } from "./retained-volumes.js";
import { readSecret } from "./secret-store.js";
import { markContent, snapshotsServed, takeSnapshot, type VolumeSnapshot } from "./snapshots.js";

export const FINALIZER = "perdure.dev/environment";

type EnvironmentTeardown =
  | { readonly kind: "gone" }
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string; readonly againMs?: number };

interface EnvironmentTeardownPorts {
  readonly client: KubernetesClient;
  readonly cell: Cell;
  readonly databases: EnvironmentDatabases;
  readonly notes: Pick<RetainedNotes, "noteWritten">;
}

/** One pass; returns `gone` after the finalizer is removed. Rejects with the API server's error. */
export async function teardown(
  environment: EnvironmentResource,
  ports: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<EnvironmentTeardown> {
  if (!(environment.metadata.finalizers ?? []).includes(FINALIZER)) return { kind: "gone" };
  const { client } = ports;
  const { reclaimPolicy, deletionProtection } = environment.spec;
  if (reclaimPolicy === "Delete" && deletionProtection) {
    return waiting(
      "DeletionBlocked",
      "reclaimPolicy is Delete: set deletionProtection to false to delete the data, or reclaimPolicy to Retain",
    );
  }
  if (await hasOthersData(environment, ports, signal)) {
    await removeFinalizer(resources.environments, environment, FINALIZER, client, signal);
    return { kind: "gone" };
  }
  const existing = await client.find(resources.namespaces, objectNameOf(environment.spec.environmentId), undefined, { signal });
  const isOurs = existing?.metadata.labels?.[ENVIRONMENT_LABEL] === bareIdOf(environment.spec.environmentId);
  if (existing !== undefined && isOurs) {
    // A namespace in deletion has no processes to drain and no data to save.
    const busy = existing.metadata.deletionTimestamp === undefined ? await prepareRemoval(environment, ports, signal) : undefined;
    if (busy !== undefined) return busy;
  }
  // A namespace in deletion has passed the earlier steps, or they are complete when it is gone.
  if (reclaimPolicy === "Delete" && existing?.metadata.deletionTimestamp === undefined) {
    const busy = await removeDatabase(environment, ports, signal);
    if (busy !== undefined) return busy;
  }
  if (reclaimPolicy !== "Retain") {
    if (existing === undefined || isOurs) await releaseVolumes(environment, client, signal);
    if (existing !== undefined && isOurs) return removeNamespace(environment, existing, ports, signal);
  }
  await removeFinalizer(resources.environments, environment, FINALIZER, client, signal);
  return { kind: "gone" };
}

/** Namespace, volumes and rows of this id are what an earlier environment left (`RetainedData`): this one never took them over. */
async function hasOthersData(
  environment: EnvironmentResource,
  { client, cell }: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const kept = await client.find<RetainedNote>(resources.configMaps, noteNameOf(environment), cell.namespace, { signal });
  return kept?.data?.uid !== undefined && kept.data.uid !== environment.metadata.uid;
}

/** Everything before the namespace: undefined when it is done. */
async function prepareRemoval(
  environment: EnvironmentResource,
  ports: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<EnvironmentTeardown | undefined> {
  const { reclaimPolicy } = environment.spec;
  const busy = await end(environment, ports.client, signal);
  if (busy !== undefined) return busy;
  if (reclaimPolicy === "Snapshot") return finalSnapshot(environment, ports, signal);
  if (reclaimPolicy === "Retain") await retain(environment, ports, signal);
  return undefined;
}

const waiting = (reason: string, message: string, againMs?: number): EnvironmentTeardown =>
  againMs === undefined ? { kind: "waiting", reason, message } : { kind: "waiting", reason, message, againMs };

// ── workloads end ────────────────────────────────────────────────────────────────────────────────

interface WorkloadEnding {
  readonly resource: typeof resources.deployments | typeof resources.statefulSets;
  readonly name: string;
  readonly component: Component;
  readonly message: (pods: number) => string;
}

/** The front first, so that no new requests arrive; Redis last, so that everything is written. */
const ENDINGS: readonly WorkloadEnding[] = [
  {
    resource: resources.deployments,
    name: "front",
    component: "front",
    message: (pods) => `${pods} front pods are stopping; no more requests are accepted`,
  },
  {
    resource: resources.statefulSets,
    name: "worker",
    component: "worker",
    message: (pods) => `${pods} workers hand their partitions over`,
  },
  {
    resource: resources.statefulSets,
    name: "redis",
    component: "redis",
    message: (pods) => `${pods} Redis write what they have`,
  },
];

/** Ends workloads one after the other; undefined when none is left. */
async function end(
  environment: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<EnvironmentTeardown | undefined> {
  await endScaling(environment, client, signal);
  for (const ending of ENDINGS) {
    const count = await stop(environment, ending, client, signal);
    if (count > 0) return waiting("Draining", ending.message(count), WAIT_TERMINATING_MS);
  }
  return undefined;
}

/** KEDA would bring the least number of workers back, again and again; autoscalers of Kubernetes leave alone what has none. */
async function endScaling(
  { metadata, spec, status }: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  if (spec.workers.autoscaling?.engine !== "keda" && status?.workers?.autoscaler !== "keda") return;
  const namespace = objectNameOf(spec.environmentId);
  const existing = await client.find(resources.scaledObjects, "worker", namespace, { signal });
  const { uid, deletionTimestamp, ownerReferences = [] } = existing?.metadata ?? {};
  if (uid === undefined || deletionTimestamp !== undefined || !ownerReferences.some((owner) => owner.uid === metadata.uid))
    return;
  await client.delete(resources.scaledObjects, "worker", namespace, { uid, signal });
}

/** Returns how many of its pods still exist. */
async function stop(
  environment: EnvironmentResource,
  { resource, name, component }: WorkloadEnding,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<number> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const existing = await client.find<KubeObject & { readonly spec?: { readonly replicas?: number } }>(resource, name, namespace, {
    signal,
  });
  if (existing !== undefined && existing.spec?.replicas !== 0) {
    const stopped = {
      apiVersion: existing.apiVersion,
      kind: existing.kind,
      metadata: { name, namespace },
      spec: { replicas: 0 },
    };
    // A field manager of its own, so that it does not remove the fields of the other one.
    await client.apply(stopped, { manager: `${MANAGER}-teardown`, force: true, signal });
  }
  const labels = Object.entries(selectorOf(environment, component))
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
  return (await client.list<MetadataOnly>(resources.pods, { namespace, labels, metadataOnly: true, signal })).items.length;
}

// ── data ─────────────────────────────────────────────────────────────────────────────────────────

async function retain(environment: EnvironmentResource, ports: EnvironmentTeardownPorts, signal: AbortSignal): Promise<void> {
  const { claims, volumes } = await keepVolumes(environment, ports.client, signal);
  await note(environment, { volumeClaims: claims.join(","), volumes: volumes.join(",") }, ports, signal);
}

/** Undefined when the last state is kept for good and a note names the snapshot. */
async function finalSnapshot(
  environment: EnvironmentResource,
  ports: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<EnvironmentTeardown | undefined> {
  const { client } = ports;
  const namespace = objectNameOf(environment.spec.environmentId);
  const claimName = primaryClaimOf(environment);
  const claim = await client.find(resources.volumeClaims, claimName, namespace, { signal });
  if (claim === undefined) {
    const { present, volumes = [] } = environment.status?.data ?? {};
    if (present !== true && volumes.length === 0) return undefined; // The environment never had data.
    return waiting("DeletionBlocked", `claim ${claimName} is not there, so no snapshot can be taken; choose Retain or Delete`);
  }
  if (!(await snapshotsServed(ports, signal)))
    return waiting(
      "DeletionBlocked",
      "reclaimPolicy is Snapshot, and this cluster has no snapshots of volumes; choose Retain or Delete",
      WAIT_REFERENCE_MS,
    );
  const name = `final-${(environment.metadata.uid ?? "").slice(0, 8)}`;
  const snapshot = await client.find<VolumeSnapshot>(resources.volumeSnapshots, name, namespace, { signal });
  if (snapshot === undefined) await takeSnapshot(environment, name, "final", ports, signal);
  const { readyToUse, boundVolumeSnapshotContentName: content, error } = snapshot?.status ?? {};
  if (readyToUse !== true || content === undefined)
    return waiting("Snapshotting", error?.message ?? `snapshot ${name} is being taken`, WAIT_SNAPSHOT_MS);
  await markContent(environment, content, false, ports, signal);
  await markContent(environment, content, true, ports, signal);
  await note(environment, { snapshotId: content }, ports, signal);
  return undefined;
}

/** Writes the note with the location of the data, which prevents that an environment of this id is created by accident. */
async function note(
  environment: EnvironmentResource,
  where: Readonly<Record<string, string>>,
  { client, cell, notes }: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<void> {
  const publicKeys = environment.status?.signingKey?.publicKeys ?? [];
  const data = {
    environmentId: environment.spec.environmentId,
    accountId: environment.spec.accountId,
    uid: environment.metadata.uid ?? "",
    namespace: objectNameOf(environment.spec.environmentId),
    publicKeys: publicKeys.join(","),
    keyFingerprint: fingerprintOf(publicKeys),
    ...where,
  };
  const { apiVersion, kind } = resources.configMaps;
  const labels = { "app.kubernetes.io/component": "retained", "app.kubernetes.io/part-of": "perdure" };
  const metadata = { name: noteNameOf(environment), namespace: cell.namespace, labels };
  notes.noteWritten(environment);
  await client.apply({ apiVersion, kind, metadata, data }, { manager: MANAGER, force: true, signal });
}

/** Removes role, schema and rows in the cell's database; undefined when none are left. Rejects with the API server's error. */
async function removeDatabase(
  environment: EnvironmentResource,
  { client, cell, databases }: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<EnvironmentTeardown | undefined> {
  const secret = cell.postgresSecret;
  const { metadata, spec } = environment;
  // One that names a database may have named the cell's by another Secret, or had none of its own before.
  if (secret === undefined) return undefined;
  const url = (await readSecret(client, secret.name, cell.namespace, signal))?.[secret.key];
  if (url === undefined) return waiting("InvalidReference", `Secret '${secret.name}' is not there`, WAIT_REFERENCE_MS);
  const options = { platformUrl: new Secret(url), environmentId: spec.environmentId };
  const attempt = await databases.remove(metadata.name, options, signal);
  if (attempt.kind === "done") return undefined;
  const { code, detail } = attempt.error;
  return waiting(code === "STO0001" ? "DatabaseUnavailable" : "DatabaseRefused", `${code}: ${detail}`, attempt.againMs);
}

// ── the rest ─────────────────────────────────────────────────────────────────────────────────────

async function removeNamespace(
  environment: EnvironmentResource,
  existing: KubeObject,
  { client, cell }: EnvironmentTeardownPorts,
  signal: AbortSignal,
): Promise<EnvironmentTeardown> {
  const { name, uid, deletionTimestamp } = existing.metadata;
  const going = waiting("Deleting", goingMessage(existing), WAIT_TERMINATING_MS);
  if (deletionTimestamp !== undefined) return going;
  const leave = removalBinding(environment, cell);
  if (leave !== undefined) await client.apply(leave, { manager: MANAGER, force: true, signal });
  try {
    await client.delete(resources.namespaces, name, undefined, uid === undefined ? { signal } : { uid, signal });
    return going;
  } catch (cause) {
    // An API server needs a moment to learn of the leave that we have just given ourselves.
    if (!isForbidden(cause)) throw cause;
    return waiting("Forbidden", cause.message, leave === undefined ? WAIT_REFERENCE_MS : WAIT_TERMINATING_MS);
  }
}
