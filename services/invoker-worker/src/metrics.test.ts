import { expect, test } from "@jest/globals";
import { Metrics } from "@perdure/role";
import { invokerMetrics } from "./metrics.js";

function samples(metrics: Metrics, name: string): string[] {
  return metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name));
}

test("attempts are counted by how they ended, and those that run are shown", () => {
  const metrics = new Metrics();
  const invoker = invokerMetrics(metrics);
  for (let i = 0; i < 4; i++) invoker.attemptStarted();
  invoker.attemptEnded("ended", undefined, 5);
  invoker.attemptEnded("failed", "RT0010", 5);
  invoker.attemptEnded("failed", "RT0016", 5);
  expect(samples(metrics, "perdure_worker_attempts_total")).toEqual([
    'perdure_worker_attempts_total{result="ok"} 1',
    'perdure_worker_attempts_total{result="unreachable"} 1',
    'perdure_worker_attempts_total{result="protocol"} 1',
  ]);
  expect(samples(metrics, "perdure_worker_attempts_running")).toEqual(["perdure_worker_attempts_running 1"]);
});
