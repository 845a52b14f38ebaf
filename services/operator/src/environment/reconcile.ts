/**
 * Why: what an environment should be is compared with what the cluster holds, as often as needed: each pass looks at the present state only,
 * and a pass that finds nothing to do writes nothing (kubernetes.md §3.2).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/driver-kubernetes";
import { addFinalizer } from "../finalizer.js";
import { bad, good, type Outcome } from "./outcome.js";
import { Pass } from "./pass.js";
import type { EnvironmentPorts, Reconciled } from "./ports.js";
import { NOTHING_SEEN, report } from "./report.js";
import { restStep } from "./rest-step.js";
import { FINALIZER, teardown } from "./teardown.js";

/** One pass for one environment. Rejects with what was thrown on: it is tried again after a pause. */
export async function reconcileEnvironment(name: string, ports: EnvironmentPorts, signal: AbortSignal): Promise<Reconciled> {
  const cached = ports.caches.environments.get(name);
  const environment = cached === undefined ? undefined : ports.writes.fresh(cached);
  if (environment === undefined) {
    ports.applier.forgetNamespace(name);
    ports.writes.forget(name);
    ports.turns.forget(name);
    ports.secretTurns.end(name);
    ports.databases.forget(name);
    ports.redisLooks.forget(name);
    ports.frontChecks.forget(name);
    ports.metrics.snapshots.forget(name);
    ports.volumeLooks.forget(name);
    ports.retention.forget(name);
    ports.startLooks.forget(name);
    ports.redisStartLooks.forget(name);
    ports.statusPacing.forget(name);
    ports.secretCopies.forget(name);
    ports.metrics.volumes.forget(name);
    return { kind: "ok" };
  }
  if (environment.metadata.deletionTimestamp !== undefined) return remove(environment, ports, signal);
  if (environment.spec.region !== ports.cell.region) {
    const message = `this cell is in ${ports.cell.region}`;
    return report(environment, [bad("Accepted", "WrongRegion", message)], NOTHING_SEEN, ports, signal);
  }
  await addFinalizer(resources.environments, environment, FINALIZER, ports.client, signal);
  const rest = await restStep(environment, ports, signal);
  return new Pass(environment, rest, ports, signal).run();
}
async function remove(environment: EnvironmentResource, ports: EnvironmentPorts, signal: AbortSignal): Promise<Reconciled> {
  const { client, cell, databases, events, notes } = ports;
  const result = await teardown(environment, { client, cell, databases, notes }, signal);
  if (result.kind === "gone") {
    ports.applier.forgetNamespace(objectNameOf(environment.spec.environmentId));
    return { kind: "ok" };
  }
  const isBlocked = result.reason === "DeletionBlocked";
  const told = { reason: result.reason, action: "Delete", note: result.message };
  await events.record(environment as unknown as KubeObject, { type: isBlocked ? "Warning" : "Normal", ...told });
  const deleting = good("Deleting", result.reason, result.message);
  const outcome = result.againMs === undefined ? deleting : { ...deleting, againMs: result.againMs };
  const stuck = isBlocked ? [] : stuckDeletion(environment, result.message, ports);
  return report(environment, [outcome, ...stuck], NOTHING_SEEN, ports, signal);
}

/** Nothing is skipped because somebody does not answer; but people should know. */
function stuckDeletion({ metadata }: EnvironmentResource, message: string, { clock, cell }: EnvironmentPorts): readonly Outcome[] {
  const sinceMs = Date.parse(metadata.deletionTimestamp ?? "");
  if (clock.nowMs() - sinceMs < cell.deletionStuckMs) return [];
  return [good("DeletionStuck", "Waiting", message)];
}
