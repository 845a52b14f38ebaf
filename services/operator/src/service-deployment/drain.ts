/**
 * Drains superseded versions. A version stays for as long as an invocation needs it, and then for a grace time; then its pods are removed,
 * its ReplicaSet stays for a rollback, and finally that is removed too. No invocation is ended by force (kubernetes.md §1.2).
 */
import { present } from "@perdure/base";
import type { ServiceDeployment } from "@perdure/custom-resources";
import { isConflict, isNotFound, type KubernetesClient, resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { AdminResult, VersionUsage } from "./admin-clients.js";
import { drainAutoscaler, serviceOf } from "./desired.js";
import { noteDrain, noteRegistration } from "./notes.js";
import type { OwnSets } from "./own-sets.js";
import type { ServiceVersion } from "./version.js";

export interface VersionDrainPorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Pick<Caches, "of">;
  readonly nowMs: number;
  readonly ownSets: OwnSets;
  /** Usage of deployments, maybe cached; `anew`: not cached, because the next step cannot be undone. */
  readonly usageOf: (version: ServiceVersion, anew: boolean) => Promise<AdminResult<VersionUsage>>;
  /** Takes a deployment out of where it is registered, unless something needs it. */
  readonly deregister: (version: ServiceVersion) => Promise<AdminResult<undefined>>;
}

export interface Drained {
  readonly version: ServiceVersion;
  readonly state: "Draining" | "Idle" | "Retired" | "Gone";
  readonly active: number | undefined;
  readonly removeAfterMs: number | undefined;
  /** Why the version still exists, in a sentence; empty when there is no reason to report. */
  readonly why: string;
}

interface DrainNeed {
  readonly active: number;
  readonly why: string;
}

/** Takes the next step for one superseded version. Rejects with the API server's error. */
export async function drain(
  deployment: ServiceDeployment,
  version: ServiceVersion,
  ports: VersionDrainPorts,
  signal: AbortSignal,
): Promise<Drained> {
  const answer = await ports.usageOf(version, false);
  if (answer.kind !== "answered") {
    // Its usage is unknown, so the version stays as it is.
    const state = version.requested === 0 ? "Retired" : "Draining";
    return { version, state, active: undefined, removeAfterMs: version.removeAfterMs, why: answer.message };
  }
  const need = needOf(version, answer.value);
  if (need !== undefined) return keep(deployment, version, need, ports, signal);
  if (version.requested === 0 && version.removeAfterMs !== undefined) {
    await removeAutoscaler(deployment, version, ports, signal);
    return retired(version, "");
  }
  await autoscale(deployment, version, ports, signal);
  const delayMs = version.deploymentId === undefined ? 0 : deployment.spec.perdure.drainDelaySeconds * 1000;
  const removeAfterMs = version.removeAfterMs ?? ports.nowMs + delayMs;
  if (version.removeAfterMs === undefined) {
    const supersededAtMs = version.supersededAtMs ?? ports.nowMs;
    await noteDrain(deployment, version, { supersededAtMs, removeAfterMs }, ports, signal);
  }
  if (removeAfterMs > ports.nowMs) return { version, state: "Idle", active: 0, removeAfterMs, why: "" };
  // The cached usage may be seconds old, and the pods are removed now.
  const last = await ports.usageOf(version, true);
  if (last.kind !== "answered") return { version, state: "Idle", active: undefined, removeAfterMs, why: last.message };
  const lastNeed = needOf(version, last.value);
  if (lastNeed !== undefined) return keep(deployment, version, lastNeed, ports, signal);
  await removeAutoscaler(deployment, version, ports, signal);
  await scale(deployment, version, 0, ports, signal);
  return retired(version, "");
}

const retired = (version: ServiceVersion, why: string): Drained => ({
  version,
  state: "Retired",
  active: 0,
  removeAfterMs: undefined,
  why,
});

/** Returns the need for the version; undefined when nothing needs it. A version that is not registered is not needed. */
function needOf(
  { deploymentId, hash }: ServiceVersion,
  { registered, pinned, running, serves }: VersionUsage,
): DrainNeed | undefined {
  if (deploymentId === undefined || !registered.has(deploymentId)) return undefined;
  const active = Math.max(pinned.get(deploymentId) ?? 0, running.get(deploymentId) ?? 0);
  const services = serves.get(deploymentId) ?? [];
  if (active === 0 && services.length === 0) return undefined;
  const only = services.length === 0 ? [] : [`nothing newer serves ${services.join(", ")} (deployment ${deploymentId})`];
  const unfinished = active === 0 ? [] : [`${active} unfinished invocations`];
  return { active, why: `version ${hash}: ${[...unfinished, ...only].join("; ")}` };
}

/** Keeps a needed version: with pods, and without a removal date. */
async function keep(
  deployment: ServiceDeployment,
  version: ServiceVersion,
  { active, why }: DrainNeed,
  ports: VersionDrainPorts,
  signal: AbortSignal,
): Promise<Drained> {
  if (version.removeAfterMs !== undefined || version.supersededAtMs === undefined) {
    const note = { supersededAtMs: version.supersededAtMs ?? ports.nowMs, removeAfterMs: undefined };
    await noteDrain(deployment, version, note, ports, signal);
  }
  await ports.applier.apply(serviceOf(deployment, version.name, version.hash), signal);
  // A user restarted a completed invocation of this version.
  if (version.requested === 0) await scale(deployment, version, Math.max(1, deployment.spec.replicas), ports, signal);
  await autoscale(deployment, version, ports, signal);
  return { version, state: "Draining", active, removeAfterMs: undefined, why };
}

async function autoscale(
  deployment: ServiceDeployment,
  version: ServiceVersion,
  ports: VersionDrainPorts,
  signal: AbortSignal,
): Promise<void> {
  const desired = drainAutoscaler(deployment, version.name);
  if (desired === undefined) await removeAutoscaler(deployment, version, ports, signal);
  else await ports.applier.apply(desired, signal);
}

/** Removed before its target is scaled to zero, which it would revert. */
export async function removeAutoscaler(
  { metadata }: ServiceDeployment,
  { name }: Pick<ServiceVersion, "name">,
  { client, caches, applier }: Pick<VersionDrainPorts, "client" | "caches" | "applier">,
  signal: AbortSignal,
): Promise<void> {
  const existing = caches.of(resources.autoscalers)?.get(name, metadata.namespace);
  if (existing === undefined || existing.metadata.deletionTimestamp !== undefined) return;
  const isOwned = existing.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  const { uid } = existing.metadata;
  if (!isOwned || uid === undefined) return;
  applier.discardObject(resources.autoscalers, name, metadata.namespace);
  await client.delete(resources.autoscalers, name, metadata.namespace, { uid, signal });
}

async function scale(
  { metadata }: ServiceDeployment,
  { name, uid }: ServiceVersion,
  replicas: number,
  { client, ownSets }: VersionDrainPorts,
  signal: AbortSignal,
): Promise<void> {
  const operations = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "replace", path: "/spec/replicas", value: replicas },
  ] as const;
  ownSets.note(await client.patch(resources.replicaSets, { name, namespace: metadata.namespace }, operations, { signal }));
}

/** Removes a retired version that is past its rollback time: from the registry, then from the cluster. */
export async function discard(
  deployment: ServiceDeployment,
  version: ServiceVersion,
  ports: VersionDrainPorts,
  signal: AbortSignal,
): Promise<Drained> {
  if (version.deploymentId !== undefined) {
    const answer = await ports.deregister(version);
    if (answer.kind !== "answered") return retired(version, `version ${version.hash} stays registered: ${answer.message}`);
    await noteRegistration(deployment, version, undefined, ports, signal);
  }
  await removeObjects(deployment, version, ports, signal);
  return { ...retired(version, ""), state: "Gone" };
}

/** Removes the objects of a version. Its pods are deleted with its ReplicaSet. */
export async function removeObjects(
  deployment: ServiceDeployment,
  { name, uid }: Pick<ServiceVersion, "name" | "uid">,
  ports: Pick<VersionDrainPorts, "client" | "caches" | "applier">,
  signal: AbortSignal,
): Promise<void> {
  const { client, caches, applier } = ports;
  const { namespace } = deployment.metadata;
  await removeAutoscaler(deployment, { name }, ports, signal);
  applier.discardObject(resources.replicaSets, name, namespace);
  await removeOwned(() => client.delete(resources.replicaSets, name, namespace, { uid, signal }));
  const service = caches.of(resources.services)?.get(name, namespace)?.metadata;
  const isOwned = service?.ownerReferences?.some((owner) => owner.uid === deployment.metadata.uid) === true;
  if (service?.uid === undefined || !isOwned) return;
  applier.discardObject(resources.services, name, namespace);
  await removeOwned(() => client.delete(resources.services, name, namespace, { uid: present(service.uid), signal }));
}

/** An object of that name with another owner is left alone. */
async function removeOwned(remove: () => Promise<boolean>): Promise<void> {
  try {
    await remove();
  } catch (cause) {
    if (!isConflict(cause) && !isNotFound(cause)) throw cause;
  }
}
