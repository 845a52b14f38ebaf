/** Metrics of the worker, under the names that dashboards use. Labels are closed sets. */
import type { Clock } from "@perdure/base";
import type { InvokerMetrics, Slots } from "@perdure/invoker";
import { HANDOVER_CAUSES, type LeadingWorkerMetrics, type ProcessorCounters } from "@perdure/partition-processor";
import type { RedisStatus } from "@perdure/redis";
import { isCommand } from "@perdure/service-protocol";
import type { Outcome } from "@perdure/state-machine";
import type { Population } from "@perdure/storage";
import type { SubscriptionStatus, Subscriptions } from "@perdure/subscriptions";
import type { Metrics } from "@perdure/telemetry";
import { ATTEMPT_MEAN_WEIGHT, LAG_SERIES_MAX } from "./limits.js";
import { RunningAges } from "./running-ages.js";

/** Called by invokers and processors of one worker. */
export type WorkerMetrics = InvokerMetrics & LeadingWorkerMetrics & { readonly attempts: RecentAttempts };

/** Data about attempts that is kept besides the Prometheus metrics. */
export interface RecentAttempts {
  running: number;
  backingOff: number;
  /** Mean duration of recent attempts; 0 before the first has ended. */
  meanSeconds: number;
  readonly ages: RunningAges;
}

export function workerMetrics(metrics: Metrics): WorkerMetrics {
  return { ...attemptMetrics(metrics), ...partitionMetrics(metrics) };
}

function attemptMetrics(metrics: Metrics): InvokerMetrics & Pick<WorkerMetrics, "attempts"> {
  const attempts = metrics.counter({
    name: "perdure_worker_attempts_total",
    help: "Attempts that ended",
    labels: { result: ["ok", "suspended", "retryable", "timeout", "unreachable", "protocol"] },
  });
  const durations = metrics.histogram({
    name: "perdure_worker_attempt_duration_seconds",
    help: "Duration of attempts",
    labels: { transport: ["h1", "h2", "lambda", "none"] },
  });
  const delays = metrics.histogram({
    name: "perdure_worker_schedule_delay_seconds",
    help: "Time from when an attempt was due until it got a slot and began",
  });
  const slowedDown = metrics.counter({
    name: "perdure_worker_attempt_slowdowns_total",
    help: "Times that the stream of an attempt was not read for a while because the attempt exceeded its rate of commands or bytes",
  });
  const recent: RecentAttempts = { running: 0, backingOff: 0, meanSeconds: 0, ages: new RunningAges() };
  metrics.observed(
    { type: "gauge", name: "perdure_worker_attempts_running", help: "Attempts with an open stream" },
    () => recent.running,
  );
  return {
    attempts: recent,
    attemptStarted(waitedMs) {
      recent.running++;
      delays.observe(waitedMs / 1000);
    },
    attemptBrokenOff() {
      recent.running--;
    },
    attemptEnded(how, errorCode, durationMs, transport) {
      recent.running--;
      attempts.inc(how === "ended" ? "ok" : how === "suspended" ? "suspended" : failureOf(errorCode));
      durations.observe(durationMs / 1000, transport);
      recent.meanSeconds += (durationMs / 1000 - recent.meanSeconds) * ATTEMPT_MEAN_WEIGHT;
    },
    attemptSlowedDown: () => slowedDown.inc(),
    running: (sinceMs, change) => recent.ages.change(sinceMs, change),
    backingOff(change) {
      recent.backingOff += change;
    },
  };
}

function partitionMetrics(metrics: Metrics): LeadingWorkerMetrics {
  const appends = metrics.histogram({
    name: "perdure_worker_journal_append_duration_seconds",
    help: "Time to make a batch of changes durable",
    labels: { result: ["written", "fenced", "failed"] },
  });
  const fenced = metrics.counter({
    name: "perdure_worker_fenced_writes_total",
    help: "Batches refused because another worker leads",
  });
  const entries = metrics.counter({
    name: "perdure_worker_journal_entries_total",
    help: "Journal entries written",
    labels: { kind: ["command", "notification"] },
  });
  const bytes = metrics.counter({ name: "perdure_worker_journal_bytes_total", help: "Bytes of journal entries written" });
  const lateness = metrics.histogram({
    name: "perdure_worker_timer_lateness_seconds",
    help: "Time from when a sleep, a delayed call or another timer was due until it fired",
  });
  const completed = metrics.counter({
    name: "perdure_worker_invocations_completed_total",
    help: "Completed invocations",
    labels: { result: ["success", "failure", "cancelled", "killed"] },
  });
  const takes = metrics.histogram({
    name: "perdure_worker_partition_handover_seconds",
    help: "Time from acquiring a partition's lease until the partition works here",
    labels: { cause: HANDOVER_CAUSES },
  });
  return {
    committed(result, durationMs) {
      appends.observe(durationMs / 1000, result);
      if (result === "fenced") fenced.inc();
    },
    appended({ type, body }) {
      entries.inc(isCommand(type) ? "command" : "notification");
      bytes.add(body.length);
    },
    timerFired: (latenessMs) => lateness.observe(Math.max(0, latenessMs) / 1000),
    completed: (outcome) => completed.inc(resultOf(outcome)),
    partitionAcquired: (durationMs, cause) => takes.observe(durationMs / 1000, cause),
  };
}

function resultOf(outcome: Outcome): string {
  if (outcome.kind === "success") return "success";
  const { code, message } = outcome.failure;
  if (code !== CONFLICT) return "failure";
  return message === "killed" ? "killed" : /^cancell?ed$/i.test(message) ? "cancelled" : "failure";
}

/** Code of an invocation that was ended from outside; handlers may use it too, with other messages. */
const CONFLICT = 409;

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

/** The task that pings Redis; rejects when there is no response. */
export function redisMetrics(metrics: Metrics, readHealth: () => Promise<RedisStatus>): () => Promise<void> {
  const up = metrics.gauge({ name: "perdure_worker_redis_up", help: "1 when Redis has answered the last ping, else 0" });
  const log = metrics.gauge({ name: "perdure_worker_redis_log_bytes", help: "Append-only file of Redis on its disk" });
  const ratio = metrics.gauge({ name: "perdure_worker_redis_memory_ratio", help: "Memory of Redis, used and allowed" });
  return async () => {
    try {
      const { usedBytes, bytesMax, logBytes } = await readHealth();
      up.set(1);
      log.set(logBytes ?? 0);
      if (bytesMax !== undefined) ratio.set(usedBytes / bytesMax);
    } catch (cause) {
      up.set(0);
      throw cause;
    }
  };
}

/** HTTP/2 connections to endpoints by state, and sockets for HTTP/1.1. */
interface EndpointConnectionCounts {
  readonly connecting: number;
  readonly open: number;
  readonly draining: number;
  readonly http11: number;
}

/** Partitions whose lease this worker holds. */
export interface PartitionCounts {
  /** Partitions that are working. */
  readonly leading: number;
  /** Partitions that are starting. */
  readonly taking: number;
  readonly yielding: number;
}

/** The worker, as far as metrics read it. */
interface ObservedWorker {
  readonly counters: Readonly<ProcessorCounters>;
  readonly slots: Pick<Slots, "limit" | "used" | "waiting" | "oldestQueuedAtMs" | "suspensionsRequested">;
  readonly partitionCounts: () => PartitionCounts;
  /** Partitions of the environment, wherever they are led. */
  readonly partitionCount: number;
  /** State of the partitions that are led here. */
  readonly population: () => Population;
  /** Connections to endpoints. */
  readonly connections: () => EndpointConnectionCounts;
}

/** Values that the worker has anyway, read at each scrape. */
export function observeWorker(metrics: Metrics, worker: ObservedWorker, { attempts }: WorkerMetrics, clock: Clock): void {
  const { counters, slots } = worker;
  const count = (name: string, help: string, read: () => number) => metrics.observed({ type: "counter", name, help }, read);
  count("perdure_worker_commands_total", "Commands applied to partitions", () => counters.commands);
  count("perdure_worker_commits_total", "Batches written to the partition store", () => counters.commits);
  count("perdure_worker_mutations_total", "Rows changed by those batches", () => counters.mutations);
  count(
    "perdure_worker_undo_dropped_total",
    "Copies for an undo that were dropped early because of their bound",
    () => counters.undoDropped,
  );
  count(
    "perdure_worker_state_expired_total",
    "Objects whose state was removed at the end of its time to live",
    () => counters.statesExpired,
  );
  const gauge = (name: string, help: string, read: () => number) => metrics.observed({ type: "gauge", name, help }, read);
  /** Of several threads the largest counts. */
  const largest = (name: string, help: string, read: () => number) =>
    metrics.observed({ type: "gauge", name, help, merge: "max" }, read);
  const each = (name: string, help: string, label: string, read: () => readonly (readonly [string, number])[]) =>
    metrics.observedEach({ type: "gauge", name, help, labels: [label], seriesMax: 8 }, () =>
      read().map(([value, count]) => ({ labels: [value], value: count })),
    );
  each("perdure_worker_partitions", "Partitions whose lease this worker holds", "role", () => {
    const { leading, taking, yielding } = worker.partitionCounts();
    return [
      ["owner", leading],
      ["taking_over", taking],
      ["handing_over", yielding],
    ];
  });
  largest(
    "perdure_worker_partitions_expected",
    "Partitions of the environment, each of which some worker must lead",
    () => worker.partitionCount,
  );
  each("perdure_worker_invocations", "Invocations of the partitions led here that have no outcome yet", "state", () => {
    const { scheduled, inboxed, ready, suspended, paused } = worker.population();
    return [
      ["scheduled", scheduled],
      ["inboxed", inboxed],
      ["ready", ready + slots.waiting],
      ["running", attempts.running],
      ["backing_off", attempts.backingOff],
      ["suspended", suspended],
      ["paused", paused],
    ];
  });
  gauge("perdure_worker_timers_pending", "Pending sleeps, delayed calls and other timers", () => worker.population().timers);
  each("perdure_worker_stuck_invocations", "Invocations that have run or retried for at least this long", "bucket", () => [
    ["1h", attempts.ages.olderThan(HOUR_MS, clock.nowMs())],
    ["1d", attempts.ages.olderThan(24 * HOUR_MS, clock.nowMs())],
  ]);
  each("perdure_worker_deliver_connections", "Connections to endpoints", "state", () => {
    const { connecting, open, draining, http11 } = worker.connections();
    return [
      ["connecting", connecting],
      ["open", open],
      ["draining", draining],
      ["http11", http11],
    ];
  });
  gauge("perdure_worker_slots_waiting", "Invocations that wait for a slot of this worker", () => slots.waiting);
  count(
    "perdure_worker_suspensions_requested_total",
    "Attempts with a blocked handler that were requested to suspend because others waited for a slot",
    () => slots.suspensionsRequested,
  );
  each("perdure_worker_concurrency_slots", "Concurrent attempts, and their limit", "state", () => [
    ["used", slots.used],
    ["limit", slots.limit],
  ]);
  largest(
    "perdure_worker_oldest_ready_age_seconds",
    "Longest present wait of an invocation for a slot",
    () => Math.max(0, clock.nowMs() - (slots.oldestQueuedAtMs ?? clock.nowMs())) / 1000,
  );
  largest(
    "perdure_worker_ready_queue_seconds",
    "Estimated time until all ready invocations have begun, by the durations of recent attempts",
    () => (slots.waiting * attempts.meanSeconds) / slots.limit,
  );
}

const HOUR_MS = 3_600_000;

/** Progress of subscriptions, for the topic partitions that this process reads. */
export function observeSubscriptions(metrics: Metrics, subscriptions: Subscriptions): void {
  const lags = function* (read: readonly SubscriptionStatus[]) {
    for (const { id, positions } of read) {
      for (const { partition, lag } of positions) yield { labels: [id, String(partition)], value: lag };
    }
  };
  const sum = (values: Iterable<{ readonly value: number }>): number => [...values].reduce((all, { value }) => all + value, 0);
  metrics.observed(
    { type: "gauge", name: "perdure_worker_kafka_lag_records", help: "Records that wait in topics, of all subscriptions" },
    () => sum(lags(subscriptions.statuses())),
  );
  metrics.observedEach(
    {
      type: "gauge",
      name: "perdure_worker_kafka_partition_lag_records",
      help: "Records that wait in a topic partition",
      labels: ["subscription", "partition"],
      seriesMax: LAG_SERIES_MAX,
    },
    () => lags(subscriptions.statuses()),
  );
  metrics.observed(
    {
      type: "gauge",
      name: "perdure_worker_kafka_subscriptions_stuck",
      help: "Subscriptions stopped at a record that cannot be handled",
    },
    () => subscriptions.statuses().filter(({ stuck }) => stuck !== undefined).length,
  );
  metrics.observedEach(
    {
      type: "counter",
      name: "perdure_worker_kafka_consumed_total",
      help: "Consumed records, by result: made into invocations, skipped, or stuck",
      labels: ["result"],
      seriesMax: 3,
    },
    () => Object.entries(subscriptions.counts()).map(([result, value]) => ({ labels: [result], value })),
  );
}
