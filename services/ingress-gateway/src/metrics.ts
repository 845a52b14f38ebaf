/** Why: what the ingress tells about itself, as metrics under the names that dashboards know. Labels are closed sets. */
import type { Metrics } from "@perdure/role";
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
  return {
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
