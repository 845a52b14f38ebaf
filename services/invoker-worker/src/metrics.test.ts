import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { newCounters } from "@perdure/partition-processor";
import { Metrics } from "@perdure/telemetry";
import { observeWorker, workerMetrics } from "./metrics.js";

function samples(metrics: Metrics, name: string): string[] {
  return metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name));
}

test("attempts are counted by how they ended, and those that run are shown", () => {
  const metrics = new Metrics();
  const invoker = workerMetrics(metrics);
  for (let i = 0; i < 5; i++) invoker.attemptStarted(20);
  invoker.attemptBrokenOff();
  invoker.attemptEnded("ended", undefined, 5, "h2");
  invoker.attemptEnded("failed", "RT0010", 5, "none");
  invoker.attemptEnded("failed", "RT0016", 5, "h1");
  expect(samples(metrics, "perdure_worker_attempts_total")).toEqual([
    'perdure_worker_attempts_total{result="ok"} 1',
    'perdure_worker_attempts_total{result="unreachable"} 1',
    'perdure_worker_attempts_total{result="protocol"} 1',
  ]);
  expect(samples(metrics, "perdure_worker_attempts_running")).toEqual(["perdure_worker_attempts_running 1"]);
});

test("outcomes are counted by how an invocation ended", () => {
  const metrics = new Metrics();
  const worker = workerMetrics(metrics);
  const failed = (code: number, message: string) =>
    ({ kind: "failure", failure: { code, message, metadata: [] }, stacktrace: undefined }) as const;
  worker.completed({ kind: "success", value: new Uint8Array() });
  worker.completed(failed(409, "killed"));
  worker.completed(failed(409, "canceled"));
  worker.completed(failed(409, "Cancelled"));
  worker.completed(failed(409, "another process was faster"));
  worker.completed(failed(500, "killed"));
  expect(samples(metrics, "perdure_worker_invocations_completed_total")).toEqual([
    'perdure_worker_invocations_completed_total{result="success"} 1',
    'perdure_worker_invocations_completed_total{result="failure"} 2',
    'perdure_worker_invocations_completed_total{result="cancelled"} 2',
    'perdure_worker_invocations_completed_total{result="killed"} 1',
  ]);
});

/** Nothing that depends on attempts or slots. */
const anObserved = () => ({
  counters: newCounters(),
  slots: { limit: 4, used: 0, waiting: 0, oldestQueuedAtMs: undefined as number | undefined, suspensionsRequested: 0 },
  partitionCounts: () => ({ leading: 2, taking: 1, yielding: 0 }),
  partitionCount: 24,
  population: () => ({ scheduled: 5, inboxed: 4, invoked: 9, suspended: 7, ready: 2, paused: 1, timers: 6 }),
  connections: () => ({ connecting: 0, open: 3, draining: 1, http11: 2 }),
});

test("partitions, timers and connections are reported", () => {
  const metrics = new Metrics();
  observeWorker(metrics, anObserved(), workerMetrics(metrics), systemClock);
  expect(samples(metrics, "perdure_worker_partitions{")).toEqual([
    'perdure_worker_partitions{role="owner"} 2',
    'perdure_worker_partitions{role="taking_over"} 1',
    'perdure_worker_partitions{role="handing_over"} 0',
  ]);
  expect(samples(metrics, "perdure_worker_partitions_expected")).toEqual(["perdure_worker_partitions_expected 24"]);
  expect(samples(metrics, "perdure_worker_timers_pending")).toEqual(["perdure_worker_timers_pending 6"]);
  expect(samples(metrics, "perdure_worker_deliver_connections{")).toEqual([
    'perdure_worker_deliver_connections{state="connecting"} 0',
    'perdure_worker_deliver_connections{state="open"} 3',
    'perdure_worker_deliver_connections{state="draining"} 1',
    'perdure_worker_deliver_connections{state="http11"} 2',
  ]);
});

test("what was removed at the end of its time is reported", () => {
  const metrics = new Metrics();
  observeWorker(
    metrics,
    { ...anObserved(), counters: { ...newCounters(), statesExpired: 7 } },
    workerMetrics(metrics),
    systemClock,
  );
  expect(samples(metrics, "perdure_worker_state_expired_total")).toEqual(["perdure_worker_state_expired_total 7"]);
});

test("an invocation that has run for hours is reported until it ends, also when it began elsewhere", () => {
  const metrics = new Metrics();
  const worker = workerMetrics(metrics);
  const hourMs = 3_600_000;
  const nowMs = 1_000 * hourMs;
  observeWorker(metrics, anObserved(), worker, { ...systemClock, nowMs: () => nowMs });
  const [fresh, old, older] = [nowMs - hourMs / 2, nowMs - 2 * hourMs, nowMs - 30 * hourMs];
  for (const sinceMs of [fresh, old, older, older]) worker.running(sinceMs, 1);
  const stuck = () => samples(metrics, "perdure_worker_stuck_invocations{").map((line) => Number(line.split(" ")[1]));
  expect(stuck()).toEqual([3, 2]);
  worker.running(older, -1);
  worker.running(old, -1);
  expect(stuck()).toEqual([1, 1]);
});

test("ready work is reported with the wait of its head, and the estimated time at the pace of recent attempts", () => {
  const metrics = new Metrics();
  const worker = workerMetrics(metrics);
  const clock = { ...systemClock, nowMs: () => 10_000 };
  const slots = { limit: 4, used: 4, waiting: 8, oldestQueuedAtMs: 7_000, suspensionsRequested: 3 };
  observeWorker(metrics, { ...anObserved(), slots }, worker, clock);
  for (let i = 0; i < 500; i++) {
    worker.attemptStarted(0);
    worker.attemptEnded("ended", undefined, 2_000, "h2");
  }
  worker.attemptStarted(0);
  worker.backingOff(1);
  expect(samples(metrics, "perdure_worker_slots_waiting")).toEqual(["perdure_worker_slots_waiting 8"]);
  expect(samples(metrics, "perdure_worker_suspensions_requested_total")).toEqual([
    "perdure_worker_suspensions_requested_total 3",
  ]);
  expect(samples(metrics, "perdure_worker_oldest_ready_age_seconds")).toEqual(["perdure_worker_oldest_ready_age_seconds 3"]);
  expect(samples(metrics, "perdure_worker_invocations{")).toEqual([
    'perdure_worker_invocations{state="scheduled"} 5',
    'perdure_worker_invocations{state="inboxed"} 4',
    'perdure_worker_invocations{state="ready"} 10',
    'perdure_worker_invocations{state="running"} 1',
    'perdure_worker_invocations{state="backing_off"} 1',
    'perdure_worker_invocations{state="suspended"} 7',
    'perdure_worker_invocations{state="paused"} 1',
  ]);
  const [queue] = samples(metrics, "perdure_worker_ready_queue_seconds");
  expect(Number(queue?.split(" ")[1])).toBeCloseTo(4, 3);
});
