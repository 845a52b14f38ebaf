/** Why: what the roles tell about themselves, as metrics under the names that dashboards know. Labels are closed sets. */
import type { IngressMetrics } from "@perdure/ingress-gateway";
import type { InvokerMetrics } from "@perdure/invoker";
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { Metrics } from "@perdure/role";

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

export function invokerMetrics(metrics: Metrics): InvokerMetrics {
  const attempts = metrics.counter({
    name: "perdure_worker_attempts_total",
    help: "Attempts that ended",
    labels: { result: ["ok", "suspended", "retryable", "timeout", "unreachable", "protocol"] },
  });
  const running = metrics.gauge({ name: "perdure_worker_attempts_running", help: "Attempts with an open stream" });
  const durations = metrics.histogram({ name: "perdure_worker_attempt_duration_seconds", help: "Duration of attempts" });
  return {
    attemptStarted() {
      running.add(1);
    },
    attemptEnded(how, errorCode, durationMs) {
      running.add(-1);
      attempts.inc(how === "ended" ? "ok" : how === "suspended" ? "suspended" : failureOf(errorCode));
      durations.observe(durationMs / 1000);
    },
  };
}

function failureOf(code: string | undefined): string {
  switch (code) {
    case "RT0001":
      return "timeout";
    case "RT0010":
    case "RT0011":
    case "RT0023":
      return "unreachable";
    case "RT0003":
    case "RT0012":
    case "RT0013":
    case "RT0014":
    case "RT0015":
    case "RT0016":
    case "RT0017":
    case "RT0019":
      return "protocol";
    default:
      return "retryable";
  }
}

/** What the worker counts anyway, read when somebody looks. */
export function observeWorker(metrics: Metrics, worker: InvokerWorker): void {
  const { counters } = worker;
  const count = (name: string, help: string, read: () => number) => metrics.observed({ type: "counter", name, help }, read);
  count("perdure_worker_commands_total", "Commands applied to partitions", () => counters.commands);
  count("perdure_worker_commits_total", "Batches written to the partition store", () => counters.commits);
  count("perdure_worker_mutations_total", "Rows changed by those batches", () => counters.mutations);
  count("perdure_worker_invocations_completed_total", "Invocations that got their outcome", () => counters.completed);
}
