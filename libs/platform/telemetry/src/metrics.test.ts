import { describe, expect, test } from "@jest/globals";
import { Metrics } from "./metrics.js";
import { registerProcessMetrics } from "./process-metrics.js";

describe("Metrics", () => {
  test("a counter without labels is shown from the start; with labels once it counted", () => {
    const metrics = new Metrics();
    const plain = metrics.counter({ name: "perdure_a_total", help: "A" });
    const labelled = metrics.counter({
      name: "perdure_b_total",
      help: "B",
      labels: { port: ["ingress", "admin"], code: ["2xx", "5xx"] },
    });
    labelled.inc("admin", "2xx");
    labelled.add(2.5, "ingress", "5xx");
    expect(metrics.text()).toBe(
      [
        "# HELP perdure_a_total A",
        "# TYPE perdure_a_total counter",
        "perdure_a_total 0",
        "# HELP perdure_b_total B",
        "# TYPE perdure_b_total counter",
        'perdure_b_total{port="ingress",code="5xx"} 2.5',
        'perdure_b_total{port="admin",code="2xx"} 1',
        "",
      ].join("\n"),
    );
    plain.inc();
    expect(metrics.text()).toContain("perdure_a_total 1\n");
  });

  test("a label value outside its set counts as other: users' words never become series", () => {
    const metrics = new Metrics();
    const counter = metrics.counter({ name: "perdure_c_total", help: "C", labels: { result: ["ok"] } });
    for (const label of ["Greeter", "key-1", 'evil"} 1']) counter.inc(label);
    expect(metrics.text()).toContain('perdure_c_total{result="other"} 3\n');
    expect(metrics.text()).not.toContain("Greeter");
  });

  test("a gauge is set and moved", () => {
    const metrics = new Metrics();
    const gauge = metrics.gauge({ name: "perdure_g", help: "G", labels: { state: ["used", "limit"] } });
    gauge.set(5, "limit");
    gauge.add(1, "used");
    gauge.add(-1, "used");
    expect(metrics.text()).toContain('perdure_g{state="used"} 0\nperdure_g{state="limit"} 5\n');
  });

  test("an observed value is read at each scrape", () => {
    const metrics = new Metrics();
    let value = 1;
    metrics.observed({ type: "counter", name: "perdure_o_total", help: "O" }, () => value);
    expect(metrics.text()).toContain("# TYPE perdure_o_total counter\nperdure_o_total 1\n");
    value = 2;
    expect(metrics.text()).toContain("perdure_o_total 2\n");
  });

  test("observed values of things that come and go have a series each, up to a bound", () => {
    const metrics = new Metrics();
    const things = [1, 2, 3].map((n) => ({ labels: ["sub_1", String(n)], value: n * 10 }));
    const options = { type: "gauge", name: "perdure_l", help: "L", labels: ["subscription", "partition"] } as const;
    metrics.observedEach({ ...options, seriesMax: 2 }, () => things);
    expect(metrics.text().split("\n").slice(2, -1)).toEqual([
      'perdure_l{subscription="sub_1",partition="1"} 10',
      'perdure_l{subscription="sub_1",partition="2"} 20',
    ]);
    things.length = 0;
    expect(metrics.text()).not.toContain("sub_1");
    expect(() => metrics.observedEach({ ...options, name: "perdure_m", seriesMax: 1e6 }, () => [])).toThrow(/1000000 series/);
  });

  test("a histogram's buckets are cumulative and include their bound", () => {
    const metrics = new Metrics();
    const histogram = metrics.histogram({ name: "perdure_h_seconds", help: "H", buckets: [0.1, 1], labels: { kind: ["call"] } });
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value, "call");
    expect(metrics.text().split("\n").slice(2, -1)).toEqual([
      'perdure_h_seconds_bucket{kind="call",le="0.1"} 2',
      'perdure_h_seconds_bucket{kind="call",le="1"} 3',
      'perdure_h_seconds_bucket{kind="call",le="+Inf"} 4',
      'perdure_h_seconds_sum{kind="call"} 7.65',
      'perdure_h_seconds_count{kind="call"} 4',
    ]);
  });

  test("mistakes of the program are refused: a name twice, a bad name, too many series, a missing label", () => {
    const metrics = new Metrics();
    const counter = metrics.counter({ name: "perdure_x_total", help: "X", labels: { a: ["1"], b: ["1"] } });
    expect(() => metrics.gauge({ name: "perdure_x_total", help: "X" })).toThrow(/registered twice/);
    expect(() => metrics.gauge({ name: "perdure-x", help: "X" })).toThrow(/not a name/);
    const many = Array.from({ length: 40 }, (_, i) => String(i));
    expect(() => metrics.gauge({ name: "perdure_y", help: "Y", labels: { a: many, b: many } })).toThrow(/1681 series/);
    expect(() => counter.inc("1")).toThrow(/has 2 labels/);
  });

  test("special characters of help and labels are escaped", () => {
    const metrics = new Metrics();
    metrics.gauge({ name: "perdure_e", help: "two\nlines \\", labels: { path: ['a"b\\c\nd'] } }).set(1, 'a"b\\c\nd');
    expect(metrics.text()).toBe(
      '# HELP perdure_e two\\nlines \\\\\n# TYPE perdure_e gauge\nperdure_e{path="a\\"b\\\\c\\nd"} 1\n',
    );
  });

  test("the process reports its version, its role and resources, every value a number", () => {
    const metrics = new Metrics();
    using _sampling = registerProcessMetrics(metrics, "operator");
    const samples = metrics
      .text()
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(samples[0]).toMatch(/^perdure_build_info\{version="\d+\.\d+\.\d+",role="operator"\} 1$/);
    for (const line of samples) expect(line).toMatch(/^[a-z_]+(\{.*\})? \d+(\.\d+)?(e[+-]?\d+)?$/);
    expect(metrics.text()).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
  });
});
