/** Reconciles the connection with a hosted environment until its tunnels are up with a verified key (kubernetes.md §1.3). */
import type { Clock } from "@perdure/base";
import { type CloudEnvironment, type Observation, observed } from "@perdure/custom-resources";
import { type EventRecorder, isNotFound, type KubernetesClient, resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import type { ReconcileResult } from "../controller.js";
import type { Definitions } from "../definitions.js";
import { hashOf } from "../desired/runtime-config.js";
import { bad, good, type StepOutcome, step } from "../environment/outcome.js";
import { STATUS_MANAGER } from "../failure-reports.js";
import { WAIT_REFERENCE_MS } from "../limits.js";
import type { OperatorAddresses } from "../service-deployment/addresses.js";
import type { AdminClients } from "../service-deployment/admin-clients.js";
import { apiKeyOf } from "./credentials.js";
import { proxyService, tunnelObjects } from "./desired.js";
import { tunnelNameOf, tunnelObjectName } from "./names.js";

interface CloudEnvironmentPorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly adminClients: AdminClients;
  readonly addresses: Pick<OperatorAddresses, "adminOfCloud">;
  readonly definitions: Pick<Definitions, "outdated">;
}

/** One pass. Owned objects are garbage-collected with their owner. Rejects with any error, and is tried again after a pause. */
export async function reconcileCloudEnvironment(
  name: string,
  ports: CloudEnvironmentPorts,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { caches, cell } = ports;
  const cloud = caches.cloudEnvironments.get(name);
  if (cloud === undefined) {
    const kinds = [resources.deployments, resources.networkPolicies, resources.services];
    for (const resource of kinds) ports.applier.discardObject(resource, tunnelObjectName(name), cell.namespace);
    return { kind: "ok" };
  }
  if (cloud.metadata.deletionTimestamp !== undefined) return { kind: "ok" };
  const credentials = await credentialsOutcome(cloud, ports, signal);
  const tunnel = await step("TunnelConnected", () => keepTunnel(cloud, ports, signal));
  const outcomes = [credentials, tunnel];
  await report(cloud, outcomes, ports, signal);
  const againMs = Math.min(...outcomes.map((outcome) => outcome.againMs ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(againMs) ? { kind: "wait", againMs } : { kind: "ok" };
}

/** Whether the environment takes the key. */
async function credentialsOutcome(
  cloud: CloudEnvironment,
  ports: CloudEnvironmentPorts,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const type = "CredentialsValid";
  return step(type, async () => {
    const key = await apiKeyOf(cloud, ports, signal);
    if (key.kind === "missing") return bad(type, "InvalidReference", key.message, WAIT_REFERENCE_MS);
    const url = ports.addresses.adminOfCloud(cloud);
    const answer = await ports.adminClients.version({ url, token: key.secret }, signal);
    if (answer.kind === "answered") return good(type, "Accepted");
    if (answer.kind === "refused") return bad(type, "Refused", answer.message, WAIT_REFERENCE_MS);
    const observation: Observation = { type, status: "Unknown", reason: "Unreachable", message: answer.message };
    return { observation, againMs: answer.againMs };
  });
}

async function keepTunnel(cloud: CloudEnvironment, ports: CloudEnvironmentPorts, signal: AbortSignal): Promise<StepOutcome> {
  const { applier, cell } = ports;
  for (const object of tunnelObjects(cloud, cell)) await applier.apply(object, signal);
  const service = proxyService(cloud, cell);
  if (service === undefined) await removeService(cloud, ports, signal);
  else await applier.apply(service, signal);
  const { connected, desired } = tunnelOf(cloud, ports);
  if (connected >= 1) return good("TunnelConnected", "Connected", `${connected} of ${desired} clients are connected`);
  return bad("TunnelConnected", "Connecting", `none of ${desired} clients is connected`);
}

/** A client is ready when it is connected. */
function tunnelOf({ metadata, spec }: CloudEnvironment, { caches, cell }: CloudEnvironmentPorts) {
  const tunnelDeployment = caches.deployments.get(tunnelObjectName(metadata.name), cell.namespace);
  const { readyReplicas = 0, replicas = 0 } = tunnelDeployment?.status ?? {};
  return { connected: readyReplicas, replicas, desired: spec.tunnel.replicas };
}

async function removeService({ metadata }: CloudEnvironment, ports: CloudEnvironmentPorts, signal: AbortSignal): Promise<void> {
  const { client, caches, cell, applier } = ports;
  const name = tunnelObjectName(metadata.name);
  const existing = caches.of(resources.services)?.get(name, cell.namespace);
  const isOwned = existing?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
  if (existing?.metadata.uid === undefined || !isOwned) return;
  applier.discardObject(resources.services, name, cell.namespace);
  await client.delete(resources.services, name, cell.namespace, { uid: existing.metadata.uid, signal });
}

/** Reasons that an operator of the cluster must act on. */
const WARNED: ReadonlySet<string> = new Set(["InvalidReference", "Refused", "Invalid", "Forbidden", "Conflict"]);

async function report(
  cloud: CloudEnvironment,
  outcomes: readonly StepOutcome[],
  ports: CloudEnvironmentPorts,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, events, definitions } = ports;
  const { apiVersion, kind, metadata, status: before } = cloud;
  const observations = outcomes.map(({ observation }) => observation);
  // A tunnel that is up has proved its key, so an unreachable management API is not a reason against it.
  const wrong = observations.find(
    ({ type, status }) => status === "False" || (status === "Unknown" && type !== "CredentialsValid"),
  );
  const ready: Observation =
    wrong === undefined
      ? { type: "Ready", status: "True", reason: "Ready", message: "" }
      : { type: "Ready", status: "False", reason: wrong.reason, message: wrong.message };
  const generation = metadata.generation ?? 0;
  const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const now = [...observations, ready, ...definitions.outdated("cloudenvironments")];
  const { connected, replicas } = tunnelOf(cloud, ports);
  const status = {
    observedGeneration: generation,
    tunnel: { name: tunnelNameOf(cloud), replicas, connected },
    conditions: observed(before?.conditions, now, { generation, time }),
  };
  if (hashOf(status) === hashOf(before)) return;
  for (const { type, reason, message } of observations) {
    const isNew = before?.conditions?.find((one) => one.type === type)?.reason !== reason;
    if (!isNew || !WARNED.has(reason)) continue;
    await events.record(cloud, { type: "Warning", reason, action: "Reconcile", note: message });
  }
  const own = { name: metadata.name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) };
  try {
    const options = { manager: STATUS_MANAGER, force: true, subresource: "status", signal } as const;
    await client.apply({ apiVersion, kind, metadata: own, status }, options);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
  }
}
