/** Metrics of the operator (kubernetes.md §5.1). Labels are kinds and outcomes, never names of objects. */
import { PRIORITIES } from "@perdure/kubernetes";
import type { Metrics } from "@perdure/telemetry";
import { FullVolumes, SnapshotAges } from "./data-metrics.js";
import { observeOperator } from "./observed.js";
import { Readiness } from "./readiness.js";

const KINDS = ["Environment", "ServiceDeployment", "CloudEnvironment"] as const;
export type ReconciledKind = (typeof KINDS)[number];

const CHILDREN = [
  "ConfigMap",
  "Deployment",
  "HorizontalPodAutoscaler",
  "LimitRange",
  "Namespace",
  "NetworkPolicy",
  "PodDisruptionBudget",
  "ReplicaSet",
  "ResourceQuota",
  "RoleBinding",
  "Service",
  "ServiceAccount",
  "StatefulSet",
];
const PLURALS = [
  "namespaces",
  "configmaps",
  "secrets",
  "services",
  "serviceaccounts",
  "persistentvolumeclaims",
  "persistentvolumes",
  "volumesnapshots",
  "volumesnapshotcontents",
  "resourcequotas",
  "limitranges",
  "statefulsets",
  "deployments",
  "replicasets",
  "networkpolicies",
  "poddisruptionbudgets",
  "horizontalpodautoscalers",
  "leases",
  "events",
  "environments",
  "servicedeployments",
  "cloudenvironments",
];
const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"];
// Classes of status codes; an API server does not redirect.
const CODES = ["2xx", "4xx", "5xx", "none"];
const ERRORS = ["conflict", "forbidden", "invalid", "notFound", "throttled", "server", "transport", "bug"] as const;
export type ReconcileError = (typeof ERRORS)[number];

export type OperatorMetrics = ReturnType<typeof operatorMetrics>;

/** `nowMs`: milliseconds since 1970. */
export function operatorMetrics(metrics: Metrics, nowMs: () => number) {
  const kind = KINDS;
  return {
    /** Gauges whose sources register themselves. */
    observed: observeOperator(metrics, nowMs),
    reconciles: metrics.counter({
      name: "perdure_operator_reconciles_total",
      help: "Reconciles by result",
      labels: { kind, result: ["ok", "wait", "error"] },
    }),
    reconcileErrors: metrics.counter({
      name: "perdure_operator_reconcile_errors_total",
      help: "Failed reconciles by kind of error",
      labels: { kind, error: ERRORS },
    }),
    reconcileDuration: metrics.histogram({
      name: "perdure_operator_reconcile_duration_seconds",
      help: "Duration of a reconcile in seconds",
      labels: { kind },
    }),
    queueWait: metrics.histogram({
      name: "perdure_operator_queue_wait_seconds",
      help: "Time from a change of an object until its reconcile starts",
      labels: { kind, priority: PRIORITIES },
    }),
    queueRetries: metrics.counter({
      name: "perdure_operator_queue_retries_total",
      help: "Objects queued again after a failed reconcile",
      labels: { kind },
    }),
    watchRestarts: metrics.counter({
      name: "perdure_operator_watch_restarts_total",
      help: "Watches that ended and were started again, by reason",
      labels: {
        kind: [...CHILDREN, ...KINDS, "PersistentVolumeClaim", "Secret"],
        reason: ["expired", "timeout", "error", "closed"],
      },
    }),
    apiRequests: metrics.counter({
      name: "perdure_operator_api_requests_total",
      help: "Requests to the API server",
      labels: { verb: VERBS, kind: PLURALS, code: CODES },
    }),
    apiDuration: metrics.histogram({
      name: "perdure_operator_api_request_duration_seconds",
      help: "Duration of requests to the API server",
      labels: { verb: VERBS },
    }),
    driftReverts: metrics.counter({
      name: "perdure_operator_drift_reverts_total",
      help: "Objects of the operator that another writer had changed or removed, reverted by the operator",
      labels: { kind: CHILDREN },
    }),
    readiness: new Readiness(
      metrics.histogram({
        name: "perdure_operator_time_to_ready_seconds",
        help: "Time from the creation, change or resumption of an environment until it is ready",
        labels: { operation: ["create", "update", "resume"] },
        buckets: [1, 2.5, 5, 10, 25, 60, 90, 150, 300, 600],
      }),
    ),
    snapshots: new SnapshotAges(metrics, nowMs),
    volumes: new FullVolumes(metrics),
    redisPromotions: metrics.counter({
      name: "perdure_operator_redis_promotions_total",
      help: "Lost primaries of replicated Redis, by what followed: a replica was promoted, or the promotion was refused",
      labels: { result: ["promoted", "refused"] },
    }),
    leader: metrics.gauge({ name: "perdure_operator_leader", help: "Whether this process leads" }),
    definitionMissing: metrics.gauge({
      name: "perdure_operator_crd_missing",
      help: "Custom resource definitions that the API server does not have",
      labels: { crd: ["environments", "servicedeployments", "cloudenvironments"] },
    }),
    definitionOutdated: metrics.gauge({
      name: "perdure_operator_crd_outdated",
      help: "Custom resource definitions that are older than this operator",
      labels: { crd: ["environments", "servicedeployments", "cloudenvironments"] },
    }),
  };
}

/** `2xx` … `5xx`, or `none` without a response. */
export const codeOf = (status: number): string => (status === 0 ? "none" : `${Math.floor(status / 100)}xx`);
