/** Parses rules and dashboards: their expressions, and the metrics and labels in them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@perdure/dev-cluster";

export const RULES_FILE = join(ROOT, "charts/perdure/alerts/perdure.rules.yaml");
export const DASHBOARDS = join(ROOT, "charts/perdure/dashboards");
export const RUNBOOKS = join(ROOT, "docs/runbooks");

export interface Alert {
  readonly name: string;
  readonly severity: string;
  readonly runbookUrl: string;
}

/** The file is ours and plain: each alert has its lines in one order. */
export function alerts(): readonly Alert[] {
  const text = readFileSync(RULES_FILE, "utf8");
  return text
    .split(/^ {6}- /m)
    .filter((rule) => rule.startsWith("alert:"))
    .map((rule) => ({
      name: field(rule, "alert"),
      severity: field(rule, "severity"),
      runbookUrl: field(rule, "runbook_url"),
    }));
}

function field(rule: string, name: string): string {
  const match = new RegExp(`^\\s*${name}: (.*)$`, "m").exec(rule)?.[1];
  if (match === undefined) throw new Error(`a rule has no ${name}: ${rule}`);
  return match;
}

/** Expressions of the rules, and names that recording rules give. */
export function ruleExpressions(): { readonly expressions: readonly string[]; readonly recorded: readonly string[] } {
  const text = readFileSync(RULES_FILE, "utf8");
  const expressions = [...text.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm)].map(
    ([, block, line]) => (block ?? line) as string,
  );
  return { expressions, recorded: [...text.matchAll(/record: (\S+)/g)].map(([, name]) => name as string) };
}

/** Expressions of recording rules, by the names of their results. */
export function recordings(): ReadonlyMap<string, string> {
  const rules = readFileSync(RULES_FILE, "utf8").split(/^ {6}- /m);
  const recording = rules.filter((rule) => rule.startsWith("record:"));
  return new Map(recording.map((rule) => [field(rule, "record"), rule.slice(rule.indexOf("expr:") + "expr:".length)]));
}

export interface Dashboard {
  readonly file: string;
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly id?: number;
  readonly panels: readonly Panel[];
  readonly links: readonly { readonly type: string; readonly url: string; readonly tags: readonly string[] }[];
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly tags: readonly string[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}

export interface Panel {
  readonly id?: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

export function dashboards(): readonly Dashboard[] {
  return readdirSync(DASHBOARDS)
    .toSorted()
    .map((file) => ({ file, ...(JSON.parse(readFileSync(join(DASHBOARDS, file), "utf8")) as Omit<Dashboard, "file">) }));
}

/** Returns the expression with Grafana's variables replaced by something that Prometheus understands. */
export function withoutVariables(expression: string): string {
  return expression.replaceAll("$__rate_interval", "5m").replace(/\$[a-z]+/g, ".*");
}

export interface Mention {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Metrics in an expression with the labels that they are selected by. */
export function mentionsIn(expression: string): readonly Mention[] {
  const match = expression.matchAll(/(?<![\w:])((?:perdure|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
  return [...match].map(([, metric, selector = ""]) => ({
    metric: metric as string,
    labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label as string),
  }));
}

/** Labels that it groups by. */
export function groupingsIn(expression: string): readonly string[] {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => (list as string).split(/,\s*/));
}
