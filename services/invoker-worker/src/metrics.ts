/** Why: what the worker tells about itself, as metrics under the names that dashboards know. Labels are closed sets. */
import type { InvokerMetrics } from "@perdure/invoker";
import type { ProcessorCounters } from "@perdure/processor";
import type { Metrics } from "@perdure/role";

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
export function observeWorker(metrics: Metrics, worker: { readonly counters: Readonly<ProcessorCounters> }): void {
  const { counters } = worker;
  const count = (name: string, help: string, read: () => number) => metrics.observed({ type: "counter", name, help }, read);
  count("perdure_worker_commands_total", "Commands applied to partitions", () => counters.commands);
  count("perdure_worker_commits_total", "Batches written to the partition store", () => counters.commits);
  count("perdure_worker_mutations_total", "Rows changed by those batches", () => counters.mutations);
  count("perdure_worker_invocations_completed_total", "Invocations that got their outcome", () => counters.completed);
}
