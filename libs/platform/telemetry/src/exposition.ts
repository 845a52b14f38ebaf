/** The text of metrics for Prometheus, and the sum of the metrics of several threads of one process. */

/** `max`: of ages, delays and facts about the whole process, which every thread reports. */
export type MetricsMerge = "sum" | "max";

/** Name, rendered labels without braces, value. */
export type MetricSample = readonly [name: string, labels: string, value: number];

/** A metric with its present values, as plain data that `structuredClone` copies unchanged. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly merge: MetricsMerge;
  readonly samples: readonly MetricSample[];
}

/** Prometheus' text format 0.0.4. */
export function expositionText(metrics: Iterable<MetricSnapshot>): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
    for (const [sampleName, labels, value] of samples)
      lines.push(labels === "" ? `${sampleName} ${value}` : `${sampleName}{${labels}} ${value}`);
  }
  return `${lines.join("\n")}\n`;
}

/** One metric for each name, with one sample for each series: of counters and histograms the sum, of gauges what their `merge` says. */
export function mergedMetrics(threads: Iterable<readonly MetricSnapshot[]>): readonly MetricSnapshot[] {
  const merged = new Map<string, { readonly first: MetricSnapshot; readonly samples: Map<string, MetricSample> }>();
  for (const metrics of threads) {
    for (const metric of metrics) {
      const into = merged.get(metric.name) ?? { first: metric, samples: new Map<string, MetricSample>() };
      merged.set(metric.name, into);
      for (const sample of metric.samples) addSample(into.samples, sample, metric.merge);
    }
  }
  return Array.from(merged.values(), ({ first, samples }) => ({ ...first, samples: [...samples.values()] }));
}

function addSample(samples: Map<string, MetricSample>, sample: MetricSample, merge: MetricsMerge): void {
  const [name, labels, value] = sample;
  const series = `${name}{${labels}`;
  const present = samples.get(series)?.[2];
  if (present === undefined) samples.set(series, sample);
  else samples.set(series, [name, labels, merge === "max" ? Math.max(present, value) : present + value]);
}

export function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
