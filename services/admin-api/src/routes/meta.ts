/** Health and version: supported versions of the interface, and whether the process is healthy. */
import { getClusterHealth, getHealth, getLiveness, getMetrics, getReadiness, getVersion } from "@perdure/admin-contract";
import { NO_COMMIT } from "@perdure/base";
import { empty, json, text } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import type { AdminOptions, AdminPorts } from "../ports.js";

/**
 * The release of the reference system whose interface this is. The CLI chooses its SQL texts by it and requires a semantic version of at
 * least 1.5.0 (admin-api.md §2).
 */
const COMPATIBLE_VERSION = "1.7.12";
const MIN_API_VERSION = 2;
const MAX_API_VERSION = 4;

/** Experimental features of the reference system. Flow control and scopes of records are implemented; clients expect all the names. */
const FEATURES = [
  "vqueues",
  "scoped_virtual_objects",
  "kafka_scope",
  "protocol_v7",
  "invoker_yield",
  "unique_random_seeds",
  "scoped_state_table_migration",
  "scoped_promise_table_migration",
  "preflight_invocation_termination_retention",
  "vqueues_async_refill",
  "vqueue_obsolete_cleanup",
  "vqueues_migration_skip_completed",
] as const;
const NO_FEATURES = Object.fromEntries(FEATURES.map((name) => [name, false]));

/** Reports a commit that works where other processes commit: their own readiness covers it. */
const EVER_COMMITTING = (): Promise<boolean> => Promise.resolve(true);

export function metaRoutes(
  { metrics, health, isCommitting = EVER_COMMITTING }: AdminPorts,
  options: AdminOptions,
): readonly ApiRoute[] {
  return [
    route(getHealth, { summary: "Whether the server answers", answers: { 200: "It answers" }, handle: () => empty(200) }),
    route(getVersion, {
      summary: "Versions of server and interface",
      answers: { 200: "Versions, features, and where the ingress is" },
      handle: () =>
        json(200, {
          version: COMPATIBLE_VERSION,
          min_admin_api_version: MIN_API_VERSION,
          max_admin_api_version: MAX_API_VERSION,
          ingress_endpoint: options.ingressEndpoint() ?? null,
          features: { ...NO_FEATURES, vqueues: options.scopesEnabled, kafka_scope: options.recordScopesEnabled },
        }),
    }),
    route(getLiveness, {
      summary: "Liveness of the process, for orchestrators",
      answers: { 200: "Alive", 503: "Not alive; replace the process" },
      handle: () => {
        if (health().live) return empty(200);
        throw new RouteError(503, "the process has failed and is about to end");
      },
    }),
    route(getReadiness, {
      summary: "Readiness of the process, for orchestrators",
      answers: { 200: "Ready", 503: "Not ready; the message names the parts that are not ready" },
      handle: async () => {
        const { ready, waitingFor: parts } = health();
        const commits = await isCommitting();
        if (ready && commits) return empty(200);
        const waitingFor = commits ? parts : [...parts, NO_COMMIT];
        throw new RouteError(503, waitingFor.length === 0 ? "not ready" : `not ready: waiting for ${waitingFor.join(", ")}`);
      },
    }),
    route(getClusterHealth, {
      summary: "Health of the cluster",
      isDeprecated: true,
      answers: { 200: "Its name and members" },
      handle: () => json(200, { cluster_name: options.clusterName, metadata_cluster_health: { members: [1] } }),
    }),
    route(getMetrics, {
      isInternal: true,
      summary: "Metrics in the Prometheus format",
      answers: { 200: "Metrics" },
      handle: async () => text(200, "text/plain; version=0.0.4; charset=utf-8", await metrics()),
    }),
  ];
}
