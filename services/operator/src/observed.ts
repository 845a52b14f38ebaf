/**
 * Gauges that are computed from memory when metrics are scraped: states of environments, sizes of caches, lengths of queues, stuck
 * deletions. Labels are closed sets; any other value counts as `other`.
 */
import { type EnvironmentResource, PHASES } from "@perdure/custom-resources";
import type { ObjectCache } from "@perdure/kubernetes";
import type { Metrics, ObservedValue } from "@perdure/telemetry";
import { ACTION_REASONS } from "./environment/action-reasons.js";
import { ENVIRONMENT_SERIES_MAX, ENVIRONMENTS_SHOWN_MAX, KIND_SERIES_MAX } from "./limits.js";
import type { ReconciledKind } from "./metrics.js";

/** Facts of a controller that the gauges read. */
interface ObservedController {
  readonly kind: ReconciledKind;
  /** Objects that wait to be reconciled. */
  readonly depth: number;
  /** Duration of the longest running reconcile in milliseconds; 0 when none is running. */
  readonly longestRunningMs: number;
}

/** The sources of the gauges, which register themselves here. */
interface ObservedParts {
  readonly controllers: ObservedController[];
  readonly caches: ObjectCache[];
  environments: Pick<ObjectCache<EnvironmentResource>, "values"> | undefined;
  /** Whether this process leads. Only the leader reports states of environments, or each would be counted once for each operator. */
  isLeading: () => boolean;
}

/** Reasons of `Ready` and `Deleting` that dashboards show; kubernetes.md §1.1. */
const REASONS: ReadonlySet<string> = new Set([
  ...ACTION_REASONS,
  "Ready",
  "Pending",
  "RollingOut",
  "Draining",
  "VolumePending",
  "GatewayLag",
  "FrontUnreachable",
  "Suspended",
  "Hibernating",
  "Hibernated",
  "Waking",
  "DeletionBlocked",
]);

/** Reasons of `RedisPromotionRefused`. */
const REFUSALS: ReadonlySet<string> = new Set(["ReplicaUnreachable", "ReplicaSyncing", "HistoriesDiffer", "OtherPrimary"]);

export function observeOperator(metrics: Metrics, nowMs: () => number): ObservedParts {
  const parts: ObservedParts = { controllers: [], caches: [], environments: undefined, isLeading: () => false };
  const managedEnvironments = (): Iterable<EnvironmentResource> =>
    parts.isLeading() ? (parts.environments?.values() ?? []) : [];
  const byKind = (name: string, help: string, read: () => Iterable<ObservedValue>): void =>
    metrics.observedEach({ type: "gauge", name, help, labels: ["kind"], seriesMax: KIND_SERIES_MAX }, read);

  byKind("perdure_operator_queue_depth", "Objects that wait for a reconcile", () =>
    parts.controllers.map(({ kind, depth }) => ({ labels: [kind], value: depth })),
  );
  byKind("perdure_operator_longest_running_seconds", "Duration of the longest running reconcile", () =>
    parts.controllers.map(({ kind, longestRunningMs }) => ({ labels: [kind], value: longestRunningMs / 1000 })),
  );
  byKind("perdure_operator_cache_objects", "Objects in the operator's local copy of the cluster", () =>
    parts.caches.map(({ resource, size }) => ({ labels: [resource.kind], value: size })),
  );
  byKind("perdure_operator_cache_synced", "1 when the copy of a kind is complete, else 0", () =>
    parts.caches.map(({ resource, isSynced }) => ({ labels: [resource.kind], value: isSynced ? 1 : 0 })),
  );
  metrics.observedEach(
    {
      type: "gauge",
      name: "perdure_operator_environments",
      help: "Environments of the cell by phase and reason; reported by the leader only",
      labels: ["phase", "reason"],
      seriesMax: ENVIRONMENT_SERIES_MAX,
    },
    () => countsOf(managedEnvironments()),
  );
  metrics.observedEach(
    {
      type: "gauge",
      name: "perdure_operator_environment_ready",
      help: "1 when the environment is ready, else 0, for each environment that must run; reported by the leader only",
      labels: ["env"],
      seriesMax: ENVIRONMENTS_SHOWN_MAX,
    },
    () => readinessOf(managedEnvironments()),
  );
  metrics.observedEach(
    {
      type: "gauge",
      name: "perdure_operator_redis_promotion_refused",
      help: "1 for each environment whose primary of Redis is lost while no replica may be promoted, by reason; reported by the leader only",
      labels: ["env", "reason"],
      seriesMax: ENVIRONMENTS_SHOWN_MAX,
    },
    () => refusedPromotionsOf(managedEnvironments()),
  );
  metrics.observed(
    {
      type: "gauge",
      name: "perdure_operator_oldest_deletion_seconds",
      help: "Age of the oldest deletion of an environment that is not complete; 0 when there is none",
    },
    () => oldestDeletionSeconds(managedEnvironments(), nowMs()),
  );
  return parts;
}

function countsOf(environments: Iterable<EnvironmentResource>): readonly ObservedValue[] {
  const counts = new Map<string, number>();
  for (const { status } of environments) {
    const phase = PHASES.find((each) => each === status?.phase) ?? "Pending";
    const why =
      status?.conditions?.find(({ type }) => type === (phase === "Deleting" ? "Deleting" : "Ready"))?.reason ?? "Pending";
    const key = `${phase} ${REASONS.has(why) ? why : "other"}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, value]) => ({ labels: key.split(" "), value }));
}

/** Environments that must run: not those that are suspended, hibernated or being deleted. */
function* readinessOf(environments: Iterable<EnvironmentResource>): Iterable<ObservedValue> {
  for (const { metadata, spec, status } of environments) {
    const phase = status?.phase ?? "Pending";
    if (metadata.deletionTimestamp !== undefined || RESTING.has(phase)) continue;
    const isReady = status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    yield { labels: [spec.environmentId], value: isReady ? 1 : 0 };
  }
}

function* refusedPromotionsOf(environments: Iterable<EnvironmentResource>): Iterable<ObservedValue> {
  for (const { metadata, spec, status } of environments) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const refused = status?.conditions?.find(({ type }) => type === "RedisPromotionRefused");
    if (refused?.status === "True")
      yield { labels: [spec.environmentId, REFUSALS.has(refused.reason) ? refused.reason : "other"], value: 1 };
  }
}

const RESTING: ReadonlySet<string> = new Set(["Suspended", "Hibernated", "Deleting"]);

function oldestDeletionSeconds(environments: Iterable<EnvironmentResource>, nowMs: number): number {
  let oldestMs = nowMs;
  for (const { metadata } of environments) {
    if (metadata.deletionTimestamp !== undefined) oldestMs = Math.min(oldestMs, Date.parse(metadata.deletionTimestamp));
  }
  return (nowMs - oldestMs) / 1000;
}
