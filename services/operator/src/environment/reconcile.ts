/**
 * Compares the desired environment with the cluster, as often as needed: each pass decides on the present state only, and a pass without
 * differences writes nothing (kubernetes.md §3.2).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { resources } from "@perdure/kubernetes";
import { addFinalizer } from "../finalizer.js";
import { bad, good, type StepOutcome } from "./outcome.js";
import { EnvironmentPass } from "./pass.js";
import type { EnvironmentReconcilePorts, Reconciled } from "./ports.js";
import { NO_FINDINGS, report } from "./report.js";
import { restStep } from "./rest-step.js";
import { FINALIZER, teardown } from "./teardown.js";

/** One pass for one environment. Rejects with what was thrown on: it is tried again after a pause. */
export async function reconcileEnvironment(
  name: string,
  ports: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<Reconciled> {
  const cached = ports.caches.environments.get(name);
  const environment = cached === undefined ? undefined : ports.writes.fresh(cached);
  if (environment === undefined) {
    ports.applier.discardNamespace(name);
    ports.writes.discard(name);
    ports.turns.discard(name);
    ports.secretTurns.end(name);
    ports.databases.discard(name);
    ports.redisChecks.discard(name);
    ports.redisFailover.discard(name);
    ports.frontChecks.discard(name);
    ports.metrics.snapshots.remove(name);
    ports.volumePoller.discard(name);
    ports.retention.discard(name);
    ports.startChecks.discard(name);
    ports.redisStartChecks.discard(name);
    ports.statusPacing.discard(name);
    ports.secretCopies.discard(name);
    ports.metrics.volumes.remove(name);
    return { kind: "ok" };
  }
  if (environment.metadata.deletionTimestamp !== undefined) return remove(environment, ports, signal);
  if (environment.spec.region !== ports.cell.region) {
    const message = `this cell is in ${ports.cell.region}`;
    return report(environment, [bad("Accepted", "WrongRegion", message)], NO_FINDINGS, ports, signal);
  }
  await addFinalizer(resources.environments, environment, FINALIZER, ports.client, signal);
  const rest = await restStep(environment, ports, signal);
  return new EnvironmentPass(environment, rest, ports, signal).run();
}
async function remove(
  environment: EnvironmentResource,
  ports: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<Reconciled> {
  const { client, cell, databases, events, notes } = ports;
  const result = await teardown(environment, { client, cell, databases, notes }, signal);
  if (result.kind === "gone") {
    ports.applier.discardNamespace(objectNameOf(environment.spec.environmentId));
    return { kind: "ok" };
  }
  const isBlocked = result.reason === "DeletionBlocked";
  const event = { reason: result.reason, action: "Delete", note: result.message };
  await events.record(environment, { type: isBlocked ? "Warning" : "Normal", ...event });
  const deleting = good("Deleting", result.reason, result.message);
  const outcome = result.againMs === undefined ? deleting : { ...deleting, againMs: result.againMs };
  const stuck = isBlocked ? [] : stuckDeletion(environment, result.message, ports);
  return report(environment, [outcome, ...stuck], NO_FINDINGS, ports, signal);
}

/** The condition of a deletion that takes too long. No step is skipped because a component does not respond. */
function stuckDeletion(
  { metadata }: EnvironmentResource,
  message: string,
  { clock, cell }: EnvironmentReconcilePorts,
): readonly StepOutcome[] {
  const sinceMs = Date.parse(metadata.deletionTimestamp ?? "");
  if (clock.nowMs() - sinceMs < cell.deletionStuckMs) return [];
  return [good("DeletionStuck", "Waiting", message)];
}
