import { expect, test } from "@jest/globals";
import { expositionText, mergedMetrics } from "./exposition.js";
import { Metrics } from "./metrics.js";

/** Metrics as each thread registers them. */
function threadMetrics() {
  const metrics = new Metrics();
  const ended = metrics.counter({ name: "ended_total", help: "Ended", labels: { result: ["ok", "failed"] } });
  const sizes = metrics.histogram({ name: "size", help: "Sizes", buckets: [1, 10], labels: { of: ["a", "b"] } });
  const values = { running: 0, oldest: 0 };
  metrics.observed({ type: "gauge", name: "running", help: "Running" }, () => values.running);
  metrics.observed({ type: "gauge", name: "oldest", help: "Age", merge: "max" }, () => values.oldest);
  return { metrics, ended, sizes, values };
}

test("counters, histograms and gauges of threads are summed, and of ages the largest counts", () => {
  const [first, second, third] = [threadMetrics(), threadMetrics(), threadMetrics()];
  first.ended.inc("ok");
  second.ended.inc("ok");
  second.ended.inc("failed");
  first.sizes.observe(0.5, "a");
  second.sizes.observe(5, "a");
  third.sizes.observe(50, "a");
  third.sizes.observe(5, "b");
  Object.assign(first.values, { running: 1, oldest: 7 });
  Object.assign(third.values, { running: 2, oldest: 3 });
  const snapshots = [first, second, third].map(({ metrics }) => structuredClone(metrics.snapshot()));
  expect(expositionText(mergedMetrics(snapshots)).split("\n")).toEqual([
    "# HELP ended_total Ended",
    "# TYPE ended_total counter",
    'ended_total{result="ok"} 2',
    'ended_total{result="failed"} 1',
    "# HELP size Sizes",
    "# TYPE size histogram",
    'size_bucket{of="a",le="1"} 1',
    'size_bucket{of="a",le="10"} 2',
    'size_bucket{of="a",le="+Inf"} 3',
    'size_sum{of="a"} 55.5',
    'size_count{of="a"} 3',
    'size_bucket{of="b",le="1"} 0',
    'size_bucket{of="b",le="10"} 1',
    'size_bucket{of="b",le="+Inf"} 1',
    'size_sum{of="b"} 5',
    'size_count{of="b"} 1',
    "# HELP running Running",
    "# TYPE running gauge",
    "running 3",
    "# HELP oldest Age",
    "# TYPE oldest gauge",
    "oldest 7",
    "",
  ]);
});

test("a metric that one thread alone has is shown as it is, and one thread's metrics are unchanged", () => {
  const { metrics, ended } = threadMetrics();
  ended.inc("failed");
  const own = new Metrics();
  own.counter({ name: "own_total", help: "Own" }).add(4);
  expect(expositionText(mergedMetrics([metrics.snapshot()]))).toBe(metrics.text());
  expect(expositionText(mergedMetrics([own.snapshot(), metrics.snapshot()]))).toBe(own.text() + metrics.text());
});
