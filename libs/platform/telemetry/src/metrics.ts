/**
 * Metrics of a process for Prometheus, with one rule that a library cannot enforce: labels come from closed sets that are named beforehand,
 * so that no service, key or error text of a user can become a series. The series of a metric are one flat array; counting is one addition.
 */
import { escapeLabel, expositionText, type MetricSample, type MetricSnapshot, type MetricsMerge } from "./exposition.js";
import { METRIC_SERIES_MAX, OBSERVED_SERIES_MAX } from "./limits.js";

/** Label names and the values each may take. */
type LabelSets = Readonly<Record<string, readonly string[]>>;

interface MetricOptions {
  /** Like `perdure_worker_attempts_total`: with its unit, in base units. */
  readonly name: string;
  /** A sentence without a final stop. */
  readonly help: string;
  readonly labels?: LabelSets;
  /** How values of several threads of one process become one value; `sum` by default. */
  readonly merge?: MetricsMerge;
}

interface ObservedEachOptions extends Omit<MetricOptions, "labels"> {
  readonly type: "gauge" | "counter";
  readonly labels: readonly string[];
  /** At most `OBSERVED_SERIES_MAX`. */
  readonly seriesMax: number;
}

export interface ObservedValue {
  /** In the order in which the labels were declared. */
  readonly labels: readonly string[];
  readonly value: number;
}

/** Default upper bounds of histograms in seconds, each about 2.5 times the one before. */
const SECONDS_BUCKETS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60];

/** Upper bounds in seconds for durations with many series, each four or five times the one before. */
export const COARSE_SECONDS_BUCKETS: readonly number[] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** The metrics of one process. Names are unique; registering one twice is a mistake in the program and throws. */
export class Metrics {
  readonly #metrics = new Map<string, Metric>();

  counter(options: MetricOptions): Counter {
    return this.#add(new Counter(options));
  }

  gauge(options: MetricOptions): Gauge {
    return this.#add(new Gauge(options));
  }

  /** A gauge (or a counter kept elsewhere) with a single value that is read at each scrape. */
  observed(options: Omit<MetricOptions, "labels"> & { readonly type: "gauge" | "counter" }, read: () => number): void {
    this.#add(new ObservedMetric(options, read));
  }

  /**
   * Gauges (or counters kept elsewhere) for a changing set of things, read at each scrape. Label values are ids or numbers that the
   * platform assigned, never texts of users; series beyond `seriesMax` are not shown.
   */
  observedEach(options: ObservedEachOptions, read: () => Iterable<ObservedValue>): void {
    this.#add(new ObservedEach(options, read));
  }

  histogram(options: MetricOptions & { readonly buckets?: readonly number[] }): Histogram {
    return this.#add(new Histogram(options));
  }

  /** Everything in Prometheus' text format 0.0.4. */
  text(): string {
    return expositionText(this.snapshot());
  }

  /** Everything as plain data, for another thread of the process. */
  snapshot(): readonly MetricSnapshot[] {
    return Array.from(this.#metrics.values(), (metric) => {
      const samples: MetricSample[] = [];
      metric.write(samples);
      return { name: metric.name, help: metric.help, type: metric.type, merge: metric.merge, samples };
    });
  }

  #add<M extends Metric>(metric: M): M {
    if (this.#metrics.has(metric.name)) throw new TypeError(`metric '${metric.name}' is registered twice`);
    if (!/^[a-z_][a-z0-9_]*$/.test(metric.name)) throw new TypeError(`'${metric.name}' is not a name of a metric`);
    this.#metrics.set(metric.name, metric);
    return metric;
  }
}

abstract class Metric {
  abstract readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly merge: MetricsMerge;
  /** Rendered label sets by series number, without braces. */
  protected readonly series: readonly string[];
  readonly #labels: readonly (readonly [string, ReadonlyMap<string, number>])[];

  constructor(options: MetricOptions) {
    this.name = options.name;
    this.help = options.help;
    this.merge = options.merge ?? "sum";
    const sets = Object.entries(options.labels ?? {});
    const count = sets.reduce((product, [, values]) => product * (values.length + 1), 1);
    if (count > METRIC_SERIES_MAX) throw new TypeError(`metric '${options.name}' would have ${count} series`);
    this.#labels = sets.map(([name, values]) => [name, new Map([...values, OTHER].map((value, i) => [value, i]))] as const);
    this.series = renderSeries(sets);
  }

  abstract write(samples: MetricSample[]): void;

  /** The number of a series. A value outside its set counts as `other`, so it is counted without a new series. */
  protected seriesOf(values: readonly string[]): number {
    if (values.length !== this.#labels.length) throw new TypeError(`metric '${this.name}' has ${this.#labels.length} labels`);
    let index = 0;
    for (let i = 0; i < values.length; i++) {
      const set = this.#labels[i]![1];
      index = index * set.size + (set.get(values[i]!) ?? set.size - 1);
    }
    return index;
  }
}

const OTHER = "other";

function renderSeries(sets: readonly (readonly [string, readonly string[]])[]): string[] {
  let series = [""];
  for (const [name, values] of sets) {
    series = series.flatMap((prefix) =>
      [...values, OTHER].map((value) => `${prefix}${prefix === "" ? "" : ","}${name}="${escapeLabel(value)}"`),
    );
  }
  return series;
}

/** Counts up from zero. Series that were never counted are not shown, except the single one of a metric without labels. */
export class Counter extends Metric {
  readonly type = "counter";
  readonly #values: Float64Array;

  constructor(options: MetricOptions) {
    super(options);
    this.#values = new Float64Array(this.series.length);
  }

  /** `values` in the order in which the labels were declared. */
  inc(...values: readonly string[]): void {
    this.#values[this.seriesOf(values)]! += 1;
  }

  add(amount: number, ...values: readonly string[]): void {
    this.#values[this.seriesOf(values)]! += amount;
  }

  override write(samples: MetricSample[]): void {
    for (let i = 0; i < this.#values.length; i++) {
      if (this.#values[i] !== 0 || this.series.length === 1) samples.push([this.name, this.series[i]!, this.#values[i]!]);
    }
  }
}

/** Goes up and down. Series that were never set are not shown, except the single one of a metric without labels. */
class Gauge extends Metric {
  readonly type = "gauge";
  readonly #values: Float64Array;
  readonly #isSet: Uint8Array;

  constructor(options: MetricOptions) {
    super(options);
    this.#values = new Float64Array(this.series.length);
    this.#isSet = new Uint8Array(this.series.length);
  }

  set(value: number, ...values: readonly string[]): void {
    const index = this.seriesOf(values);
    this.#values[index] = value;
    this.#isSet[index] = 1;
  }

  add(amount: number, ...values: readonly string[]): void {
    const index = this.seriesOf(values);
    this.#values[index]! += amount;
    this.#isSet[index] = 1;
  }

  override write(samples: MetricSample[]): void {
    for (let i = 0; i < this.#values.length; i++) {
      if (this.#isSet[i] === 1 || this.series.length === 1) samples.push([this.name, this.series[i]!, this.#values[i]!]);
    }
  }
}

class ObservedMetric extends Metric {
  readonly type: "gauge" | "counter";
  readonly #read: () => number;

  constructor(options: Omit<MetricOptions, "labels"> & { readonly type: "gauge" | "counter" }, read: () => number) {
    super(withoutLabels(options));
    this.type = options.type;
    this.#read = read;
  }

  override write(samples: MetricSample[]): void {
    samples.push([this.name, "", this.#read()]);
  }
}

class ObservedEach extends Metric {
  readonly type: "gauge" | "counter";
  readonly #options: ObservedEachOptions;
  readonly #read: () => Iterable<ObservedValue>;

  constructor(options: ObservedEachOptions, read: () => Iterable<ObservedValue>) {
    super(withoutLabels(options));
    if (options.seriesMax > OBSERVED_SERIES_MAX)
      throw new TypeError(`metric '${options.name}' may have ${options.seriesMax} series`);
    this.type = options.type;
    this.#options = options;
    this.#read = read;
  }

  override write(samples: MetricSample[]): void {
    const { labels: names, seriesMax } = this.#options;
    let shown = 0;
    for (const { labels, value } of this.#read()) {
      if (++shown > seriesMax) return;
      const series = names.map((name, i) => `${name}="${escapeLabel(labels[i] ?? "")}"`).join(",");
      samples.push([this.name, series, value]);
    }
  }
}

/** A distribution over fixed buckets. */
export class Histogram extends Metric {
  readonly type = "histogram";
  readonly #bounds: readonly number[];
  /** Counts of each series: one per bucket, one for values above all buckets. */
  readonly #counts: Float64Array;
  readonly #sums: Float64Array;

  constructor(options: MetricOptions & { readonly buckets?: readonly number[] }) {
    super(options);
    this.#bounds = options.buckets ?? SECONDS_BUCKETS;
    this.#counts = new Float64Array(this.series.length * (this.#bounds.length + 1));
    this.#sums = new Float64Array(this.series.length);
  }

  observe(value: number, ...values: readonly string[]): void {
    const index = this.seriesOf(values);
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[index * (this.#bounds.length + 1) + bucket]! += 1;
    this.#sums[index]! += value;
  }

  override write(samples: MetricSample[]): void {
    const width = this.#bounds.length + 1;
    for (let i = 0; i < this.series.length; i++) {
      const counts = this.#counts.subarray(i * width, (i + 1) * width);
      const labels = this.series[i]!;
      if (this.series.length > 1 && counts.every((count) => count === 0)) continue;
      let total = 0;
      for (let bucket = 0; bucket < width; bucket++) {
        total += counts[bucket]!;
        const bound = bucket < this.#bounds.length ? String(this.#bounds[bucket]) : "+Inf";
        samples.push([`${this.name}_bucket`, labels === "" ? `le="${bound}"` : `${labels},le="${bound}"`, total]);
      }
      samples.push([`${this.name}_sum`, labels, this.#sums[i]!], [`${this.name}_count`, labels, total]);
    }
  }
}

/** Labels of observed metrics are rendered at each scrape. */
function withoutLabels({ name, help, merge }: Omit<MetricOptions, "labels">): MetricOptions {
  return { name, help, ...(merge === undefined ? {} : { merge }) };
}
