/** Metrics of a registry, under the names that dashboards use. Everything is read at each scrape. */
import { type Clock, type OperationObserver, observers } from "@perdure/base";
import { observedMethods, registryDefinition, schedulesDefinition } from "@perdure/grpc";
import type { Registry } from "@perdure/metadata";
import type { ProcessPorts } from "@perdure/process-kit";
import {
  COARSE_SECONDS_BUCKETS,
  GRPC_CODES,
  grpcSpan,
  type Metrics,
  measuredOperations,
  postgresSpan,
  type TracingPorts,
  tracedOperations,
} from "@perdure/telemetry";
import type { DiscoveryFetcher } from "./ports.js";

interface ObservedRegistry {
  readonly registry: Pick<Registry, "deployments" | "services" | "subscriptions">;
  /** Processes that receive every change. */
  readonly watchers: { readonly count: number; readonly lagMs: number };
  /** Connections to the database. */
  connections(): { readonly idle: number; readonly used: number; readonly waiting: number };
  /** Whether this process fires schedules. */
  isLeading(): boolean;
}

export function observeRegistry(metrics: Metrics, { registry, watchers, connections, isLeading }: ObservedRegistry): void {
  const gauge = (name: string, help: string, read: () => number) => metrics.observed({ type: "gauge", name, help }, read);
  const each = (name: string, help: string, label: string, read: () => Readonly<Record<string, number>>) =>
    metrics.observedEach({ type: "gauge", name, help, labels: [label], seriesMax: 4 }, () =>
      Object.entries(read()).map(([value, count]) => ({ labels: [value], value: count })),
    );
  each("perdure_registry_entities", "Registered deployments, services and subscriptions", "kind", () => ({
    deployment: registry.deployments().length,
    service: registry.services().length,
    subscription: registry.subscriptions().length,
  }));
  gauge("perdure_registry_watchers", "Gateways, workers and management APIs that watch this registry", () => watchers.count);
  gauge(
    "perdure_registry_watch_lag_seconds",
    "Age of the oldest change that a watching process has not read",
    () => watchers.lagMs / 1000,
  );
  each("perdure_registry_db_pool", "Connections to the database by state, and requests that wait for one", "state", () => {
    const { idle, used, waiting } = connections();
    return { idle, used, waiting };
  });
  gauge("perdure_registry_leading", "1 if this registry is the one that fires schedules, else 0", () => (isLeading() ? 1 : 0));
}

/** Tables that a registry reads, and the function through which it writes. */
const TABLES = ["documents", "write", "archive", "other"];
const VERBS = ["SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT", "ROLLBACK", "LISTEN"];
const METHODS = [...observedMethods(registryDefinition), ...observedMethods(schedulesDefinition)];

export function databaseObserver(ports: Pick<ProcessPorts, "metrics" | "clock"> & TracingPorts): OperationObserver | undefined {
  const durations = ports.metrics.histogram({
    name: "perdure_registry_db_duration_seconds",
    help: "Duration of database statements, by verb and table",
    labels: { statement: VERBS.flatMap((verb) => TABLES.map((table) => `${verb} ${table}`)) },
    buckets: COARSE_SECONDS_BUCKETS,
  });
  const labels = (name: string, target: string) => [`${name} ${target}`];
  return observers(measuredOperations({ durations, labels }, ports.clock), tracedOperations(ports, "client", postgresSpan));
}

export function grpcObserver(ports: Pick<ProcessPorts, "metrics" | "clock"> & TracingPorts): OperationObserver | undefined {
  const counts = ports.metrics.counter({
    name: "perdure_registry_grpc_requests_total",
    help: "Completed requests, by method and code",
    labels: { method: METHODS, code: ["ok", ...GRPC_CODES] },
  });
  const durations = ports.metrics.histogram({
    name: "perdure_registry_grpc_request_duration_seconds",
    help: "Duration of requests",
    labels: { method: METHODS },
  });
  const labels = (method: string) => [method];
  return observers(measuredOperations({ durations, counts, labels }, ports.clock), tracedOperations(ports, "server", grpcSpan));
}

/** A fetcher that counts requests by outcome and measures them. */
export function measuredFetcher(fetcher: DiscoveryFetcher, metrics: Metrics, clock: Clock): DiscoveryFetcher {
  const discoveries = metrics.counter({
    name: "perdure_registry_discoveries_total",
    help: "Discovery requests to endpoints",
    labels: { result: ["answered", "refused", "unreachable"] },
  });
  const durations = metrics.histogram({
    name: "perdure_registry_discovery_duration_seconds",
    help: "Duration of discovery requests",
  });
  return {
    async fetch(request, signal) {
      const sinceMs = clock.monotonicMs();
      const answer = await fetcher.fetch(request, signal);
      durations.observe((clock.monotonicMs() - sinceMs) / 1000);
      discoveries.inc(answer.kind === "failed" ? "unreachable" : answer.status < 300 ? "answered" : "refused");
      return answer;
    },
  };
}
