/** Metrics of the ingress, under the names that dashboards use. Labels are closed sets. */
import type { Metrics } from "@perdure/telemetry";
import type { IngressMetrics } from "./context.js";

const KINDS = ["call", "send", "attach", "output", "lookup", "awakeable", "health"];
const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"];

export function ingressMetrics(metrics: Metrics): IngressMetrics {
  const requests = metrics.counter({
    name: "perdure_gateway_requests_total",
    help: "Requests answered or abandoned by their client",
    labels: { kind: KINDS, code: STATUS_CLASSES, outcome: ["ok", "throttled", "upstream", "client_gone", "refused"] },
  });
  const durations = metrics.histogram({
    name: "perdure_gateway_request_duration_seconds",
    help: "Time from a request's headers to its answer, handlers included",
    labels: { kind: KINDS },
  });
  const overheads = metrics.histogram({
    name: "perdure_gateway_overhead_seconds",
    help: "Time from the end of a request until its invocation is durable",
    labels: { kind: ["call", "send"] },
  });
  const lookups = metrics.counter({
    name: "perdure_gateway_route_lookups_total",
    help: "Services that paths named, by whether they are registered",
    labels: { result: ["hit", "unknown"] },
  });
  const bytes = metrics.counter({
    name: "perdure_gateway_request_bytes_total",
    help: "Bytes of bodies: of accepted requests, and of answers",
    labels: { direction: ["in", "out"] },
  });
  const paced = metrics.counter({
    name: "perdure_gateway_paced_requests_total",
    help: "Requests that became no invocation of their own, because of a debounce or a throttle",
    labels: { kind: ["call", "send"], by: ["debounce", "throttle"] },
  });
  return {
    paced: (kind, by) => paced.inc(kind, by),
    countLookup: (isHit) => lookups.inc(isHit ? "hit" : "unknown"),
    bytes: (direction, count) => bytes.add(count, direction),
    accepted: (kind, durationMs) => overheads.observe(durationMs / 1000, kind),
    answered(kind, status, code, durationMs) {
      requests.inc(kind, STATUS_CLASSES[Math.floor(status / 100) - 1] ?? "other", outcomeOf(status, code));
      durations.observe(durationMs / 1000, kind);
    },
    abandoned(kind, durationMs) {
      requests.inc(kind, "other", "client_gone");
      durations.observe(durationMs / 1000, kind);
    },
  };
}

function outcomeOf(status: number, code: string | undefined): string {
  if (status === 429) return "throttled";
  if (code === undefined) return "ok";
  return status >= 500 ? "upstream" : "refused";
}

/** Values read at each scrape. `syncAgeMs`: age of the copy of the registry. */
export function observeIngress(metrics: Metrics, ingress: { readonly inFlight: number }, syncAgeMs: () => number): void {
  metrics.observed(
    { type: "gauge", name: "perdure_gateway_in_flight", help: "Requests neither answered nor abandoned" },
    () => ingress.inFlight,
  );
  metrics.observed(
    {
      type: "gauge",
      merge: "max",
      name: "perdure_gateway_route_sync_age_seconds",
      help: "Time since changes of the registry were last received; 0 while connected",
    },
    () => syncAgeMs() / 1000,
  );
}
