/** Metrics of every process: version, memory, processor time, and the delay of the event loop; the latter and the heap once for each thread. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { MetricsMerge } from "./exposition.js";
import { EVENT_LOOP_SAMPLE_MS } from "./limits.js";
import type { Metrics } from "./metrics.js";
import { VERSION } from "./version.js";

/**
 * Registers them; disposing stops the sampling. `role`: name of the program, as in its log lines; alert rules for absent programs select by
 * it.
 */
export function registerProcessMetrics(metrics: Metrics, role: string): Disposable {
  const labels = { version: [VERSION], role: [role] };
  metrics
    .gauge({ name: "perdure_build_info", help: "Always 1; labels give the version and the program", labels })
    .set(1, VERSION, role);
  const observe = (type: "gauge" | "counter", name: string, help: string, read: () => number) =>
    metrics.observed({ type, name, help }, read);
  observe("counter", "process_cpu_seconds_total", "Processor time used, in seconds", cpuSeconds);
  observe("gauge", "process_start_time_seconds", "When the process started, in seconds since 1970", startedAt);
  observe("gauge", "process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  return registerThreadMetrics(metrics);
}

/** Those of the present thread: its heap and its event loop. Disposing stops the sampling. */
export function registerThreadMetrics(metrics: Metrics): Disposable {
  const observe = (merge: MetricsMerge, name: string, help: string, read: () => number) =>
    metrics.observed({ type: "gauge", name, help, merge }, read);
  observe("sum", "nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed);
  observe("sum", "nodejs_heap_size_total_bytes", "Heap allocated", () => process.memoryUsage().heapTotal);
  observe(
    "sum",
    "nodejs_external_memory_bytes",
    "Memory outside the heap that objects hold",
    () => process.memoryUsage().external,
  );

  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_SAMPLE_MS });
  delay.enable();
  observe("max", "nodejs_eventloop_lag_seconds", "Mean delay of the event loop since the last scrape", () =>
    lagSeconds(delay, "mean"),
  );
  observe("max", "nodejs_eventloop_lag_max_seconds", "Largest delay of the event loop since the last scrape", () => {
    const seconds = lagSeconds(delay, "max");
    delay.reset(); // The last of the two to be read.
    return seconds;
  });
  return { [Symbol.dispose]: () => void delay.disable() };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function startedAt(): number {
  return performance.timeOrigin / 1000;
}

/** The sampler reports whole intervals: the part above its own resolution is the delay. Without samples it has no numbers: 0. */
function lagSeconds(delay: ReturnType<typeof monitorEventLoopDelay>, which: "mean" | "max"): number {
  if (delay.count === 0) return 0;
  return Math.max(0, delay[which] / 1e9 - EVENT_LOOP_SAMPLE_MS / 1000);
}
