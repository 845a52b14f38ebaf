/** Why: alerts are tried on series of real programs: what was scraped continues for hours as it was, or with one thing gone wrong. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PromtoolResult, runPromtool } from "@perdure/servers";
import { alerts, mentionsIn, RULES_FILE, ruleExpressions } from "./rules.js";
import type { ScrapedMetric } from "./scrape.js";

/** A series in promtool's notation. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

/** Two scrapes of one program. */
export interface Recording {
  /** Labels that a scrape would give. */
  readonly target: Readonly<Record<string, string>>;
  readonly earlier: ReadonlyMap<string, ScrapedMetric>;
  readonly later: ReadonlyMap<string, ScrapedMetric>;
  readonly seconds: number;
}

export const MINUTES = 8 * 60;

/** Extrapolates counters at the observed rate and keeps gauges at the last value; one value per minute. */
export function goingOn(recordings: readonly Recording[]): readonly Series[] {
  return recordings.flatMap(({ target, earlier, later, seconds }) =>
    [...later.values()].flatMap(({ name, type, samples }) =>
      [...samples].map(([series, value]) => {
        const before = earlier.get(name)?.samples.get(series) ?? 0;
        const perMinute = type === "gauge" ? 0 : ((value - before) * 60) / seconds;
        return { series: labelled(series, target), values: `${plain(value)}+${plain(perMinute)}x${MINUTES}` };
      }),
    ),
  );
}

/** promtool reads no exponents in this notation. */
function plain(value: number): string {
  return Math.max(0, value).toFixed(9);
}

function labelled(series: string, labels: Readonly<Record<string, string>>): string {
  const [, name = "", own] = /^([a-z0-9_]+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const given = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${[...(own === undefined ? [] : [own]), ...given].join(",")}}`;
}

/** Only the series that rules use; promtool needs time for every series. */
export function aboutRules(series: readonly Series[]): readonly Series[] {
  const usedMetrics = new Set(
    ruleExpressions().expressions.flatMap((expression) => mentionsIn(expression).map(({ metric }) => metric)),
  );
  return series.filter((each) => usedMetrics.has(nameOf(each.series)));
}

/** The same without the metrics that `replacing` has series of, and with those instead. */
export function with_(series: readonly Series[], replacing: readonly Series[]): readonly Series[] {
  const names = new Set(replacing.map((each) => nameOf(each.series)));
  return [...series.filter((each) => !names.has(nameOf(each.series))), ...replacing];
}

function nameOf(series: string): string {
  return series.replace(/\{.*$/, "");
}

/** Whether each metric that the expression is about has a series here that it selects: then it has something to show. */
export function isAnswered(expression: string, series: readonly Series[]): boolean {
  const selectors = [...expression.matchAll(/(?<![\w:])((?:perdure|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
  return (
    selectors.length > 0 && selectors.every(([, metric, selector = ""]) => series.some((each) => selects(metric, selector, each)))
  );
}

function selects(metric: string | undefined, selector: string, { series }: Series): boolean {
  if (nameOf(series) !== metric) return false;
  const labels = new Map([...series.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = "", value = ""]) => [label, value]));
  return [...selector.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].every(([, label = "", operator = "", expected = ""]) => {
    const value = labels.get(label) ?? "";
    const isMeant = operator.endsWith("~") ? new RegExp(`^(?:${expected})$`).test(value) : value === expected;
    return operator.startsWith("!") ? !isMeant : isMeant;
  });
}

/** Runs promtool: each expression must have a result at the minute. */
export async function show(expressions: readonly string[], series: readonly Series[], minute: number): Promise<PromtoolResult> {
  return runTests([
    {
      name: "dashboards",
      interval: "1m",
      input_series: series,
      promql_expr_test: expressions.map((expression) => ({
        expr: `count(${expression}) > bool 0`,
        eval_time: `${minute}m`,
        exp_samples: [{ labels: "{}", value: 1 }],
      })),
    },
  ]);
}

export interface Play {
  readonly name: string;
  readonly series: readonly Series[];
  /** Alerts and whether they shall fire at the minute. */
  readonly expected: readonly Expected[];
}

export interface Expected {
  readonly alert: string;
  readonly minute: number;
  readonly fires: boolean;
  /** Label values that the alert has; all alerts of the name when absent. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Runs promtool with the rules on the series. */
export async function play(plays: readonly Play[]): Promise<PromtoolResult> {
  const tests = plays.map(({ name, series, expected }) => ({
    name,
    interval: "1m",
    input_series: series,
    promql_expr_test: expected.map(({ alert, minute, fires, labels = {} }) => {
      const own = Object.entries(labels).map(([label, value]) => `,${label}="${value}"`);
      return {
        expr: `count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"${own.join("")}}) > bool 0`,
        eval_time: `${minute}m`,
        exp_samples: fires ? [{ labels: `{alertname="${alert}"}`, value: 1 }] : [],
      };
    }),
  }));
  return runTests(tests);
}

async function runTests(tests: readonly object[]): Promise<PromtoolResult> {
  const directory = mkdtempSync(join(tmpdir(), "perdure-playback-"));
  try {
    const file = join(directory, "test.json"); // JSON is YAML, too.
    writeFileSync(file, JSON.stringify({ rule_files: [RULES_FILE], evaluation_interval: "1m", tests }));
    return await runPromtool(["test", "rules", file]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export function noneFires(minute: number): Play["expected"] {
  return alerts().map(({ name }) => ({ alert: name, minute, fires: false }));
}
