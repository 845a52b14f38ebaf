/** Turns the findings of a pass into the status, metrics and events of the environment, and the time of the next pass. */
import { type EnvironmentResource, objectNameOf, observed } from "@perdure/custom-resources";
import { endpointsOf, hashOf, hostOf } from "../desired/runtime-config.js";
import { STATUS_MANAGER } from "../failure-reports.js";
import type { Scaler } from "./autoscaling-step.js";
import type { AcceptedDataLoss } from "./data-loss-step.js";
import type { DataResult } from "./data-step.js";
import type { Draining } from "./draining.js";
import type { HibernationDecision } from "./hibernation.js";
import { phaseOf, summary, withDeadline } from "./observe.js";
import type { StepOutcome } from "./outcome.js";
import type { EnvironmentReconcilePorts, Reconciled } from "./ports.js";
import type { EnvironmentSecrets } from "./secrets.js";
import { statusOf } from "./status.js";
import { reportKeyChange, warnOfNew } from "./status-events.js";
import { isProgress } from "./status-pacing.js";
import type { VolumesResult } from "./volumes-step.js";

/** Findings of a pass besides its outcomes. */
interface PassFindings {
  readonly secrets: EnvironmentSecrets | undefined;
  readonly rest: HibernationDecision | undefined;
  readonly draining: Draining | undefined;
  readonly scaler: Scaler | undefined;
  readonly data: DataResult | undefined;
  readonly volumes: VolumesResult | undefined;
  /** The loss that was accepted last. */
  readonly acceptedLoss: AcceptedDataLoss;
}

export const NO_FINDINGS: PassFindings = {
  secrets: undefined,
  rest: undefined,
  draining: undefined,
  scaler: undefined,
  data: undefined,
  volumes: undefined,
  acceptedLoss: undefined,
};

/** Writes the status when it has changed, and returns when to reconcile again. */
export async function report(
  environment: EnvironmentResource,
  outcomes: readonly StepOutcome[],
  { secrets, rest, draining, scaler, data, volumes, acceptedLoss }: PassFindings,
  ports: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<Reconciled> {
  const { client, clock, cell, caches, events } = ports;
  const { status: before, metadata, apiVersion, kind } = environment;
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const observations = isLeaving
    ? outcomes.map(({ observation }) => observation)
    : summary(environment, outcomes, rest?.hibernation?.state);
  const generation = metadata.generation ?? 0;
  const now = withDeadline(observations, before?.conditions, generation, clock.nowMs());
  const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = caches.statefulSets.get("worker", namespace);
  const ready = now.find(({ type }) => type === "Ready");
  const isReady = ready?.status === "True";
  const status = statusOf(environment, {
    phase: phaseOf(environment, now, before),
    observedGeneration: generation,
    conditions: observed(before?.conditions, [...now, ...ports.definitions.outdated("environments")], { generation, time }),
    namespace,
    host: hostOf(environment, cell),
    endpoints: endpointsOf(environment, cell),
    set,
    isReady,
    redisAuth: secrets === undefined ? before?.redisAuth : secrets.redisAuth,
    publicKeys: secrets?.publicKeys ?? before?.signingKey?.publicKeys,
    rest,
    draining,
    autoscaler: scaler?.isThere === true ? environment.spec.workers.autoscaling?.engine : undefined,
    data,
    volumes,
    acceptedLoss,
  });
  ports.metrics.readiness.record(environment, status.phase ?? "Pending", isReady, clock.nowMs());
  if (isReady || isLeaving || environment.spec.suspended) ports.secretTurns.end(metadata.name);
  if (isReady) ports.secretCopies.noteReady(namespace);
  else if (ready === undefined || !isProgress(ready)) ports.secretCopies.noteProblem(namespace);
  const heldMs = ports.statusPacing.holdMs(environment, status);
  if (hashOf(status) !== hashOf(before) && heldMs === undefined) {
    // By UID: a later object of the same name is another one.
    const own = { name: metadata.name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) };
    const applied = { apiVersion, kind, metadata: own, status };
    ports.writes.note(await client.apply(applied, { manager: STATUS_MANAGER, force: true, subresource: "status", signal }));
    ports.statusPacing.noteWritten(environment);
    const wasReady = before?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
    if (isReady && !wasReady) {
      const note = `environment is reachable at ${status.host ?? ""}`;
      await events.record(environment, { type: "Normal", reason: "Ready", action: "Reconcile", note });
    }
    await reportKeyChange(environment, status, events);
    await warnOfNew(environment, now, events);
  }
  const waits = [heldMs, rest?.againMs, secrets?.againMs, ...outcomes.map((outcome) => outcome.againMs)].filter(
    (ms) => ms !== undefined,
  );
  const againMs = Math.min(...waits);
  return Number.isFinite(againMs) ? { kind: "wait", againMs } : { kind: "ok" };
}
