/** Rules and dashboards use only existing metrics and are valid for Prometheus and Grafana. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { runPromtool } from "@perdure/servers";
import { documentedMetrics, SCRAPE_LABELS } from "./metrics-page.js";
import { show } from "./playback.js";
import {
  alerts,
  DASHBOARDS,
  dashboards,
  groupingsIn,
  mentionsIn,
  RULES_FILE,
  RUNBOOKS,
  ruleExpressions,
  withoutVariables,
} from "./rules.js";

const PROMTOOL_MS = 180_000;
const documented = documentedMetrics();

/** What is wrong with the names in an expression. */
function unknownNamesIn(expression: string): string[] {
  const mentions = mentionsIn(expression);
  const allowedLabels = new Set(SCRAPE_LABELS);
  const unknownNames: string[] = [];
  for (const { metric, labels } of mentions) {
    const part = /^(.*)_(bucket|sum|count)$/.exec(metric);
    const entry = documented.get(metric) ?? (part === null ? undefined : documented.get(part[1] as string));
    if (entry === undefined || (entry.name !== metric && entry.type !== "histogram")) unknownNames.push(metric);
    for (const label of entry?.labels ?? []) allowedLabels.add(label);
    if (metric.endsWith("_bucket")) allowedLabels.add("le");
    for (const label of labels) if (!allowedLabels.has(label)) unknownNames.push(`${metric}{${label}}`);
  }
  for (const label of groupingsIn(expression)) if (!allowedLabels.has(label)) unknownNames.push(`by (${label})`);
  return unknownNames;
}

test("unknown names are found, or the tests below would mean nothing", () => {
  expect(unknownNamesIn('sum by (kind) (rate(perdure_gateway_requests_total{outcome="ok"}[5m]))')).toEqual([]);
  expect(unknownNamesIn("perdure_gateway_request_total")).toEqual(["perdure_gateway_request_total"]);
  expect(unknownNamesIn('perdure_gateway_requests_total{service="x"}')).toEqual(["perdure_gateway_requests_total{service}"]);
  expect(unknownNamesIn("sum by (le, handler) (perdure_gateway_overhead_seconds_bucket)")).toEqual(["by (handler)"]);
  expect(unknownNamesIn("perdure_gateway_in_flight_count")).toEqual(["perdure_gateway_in_flight_count"]);
});

/** Tables of PostgreSQL with names like those of metrics. */
const TABLES: ReadonlySet<string> = new Set([
  "perdure_accounts",
  "perdure_environments",
  "perdure_migrations",
  "perdure_plans",
  "perdure_tunnels",
]);

/** Names in a page, whatever is around them, that no metric has; `perdure_worker_*` stands for all that begin so. */
function unknownIn(page: string): string[] {
  const isDocumented = (name: string): boolean =>
    name.endsWith("_")
      ? [...documented.keys()].some((metricName) => metricName.startsWith(name))
      : unknownNamesIn(name).length === 0;
  // A prefix that ends within a word matches no metric, also when a star follows.
  return [...page.matchAll(/(?<![\w/.-])perdure_[a-z0-9_]+/g)]
    .map(([name]) => name)
    .filter((name) => !TABLES.has(name) && !isDocumented(name));
}

test("metrics that any page names exist", () => {
  expect(unknownIn("`perdure_worker_handover*` and perdure_gateway_requests_total of `perdure_gateway_*`")).toEqual([
    "perdure_worker_handover",
  ]);
  const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  expect(pages.length).toBeGreaterThan(100);
  const named = (file: string): string => readFileSync(join(ROOT, "docs", file), "utf8");
  expect(pages.flatMap((file) => unknownIn(named(file)).map((name) => `${file}: ${name}`))).toEqual([]);
});

describe("alert rules", () => {
  test(
    "are rules to Prometheus",
    async () => {
      expect(await runPromtool(["check", "rules", RULES_FILE])).toMatchObject({ isGood: true });
    },
    PROMTOOL_MS,
  );

  test("use metrics and labels that exist", () => {
    const { expressions } = ruleExpressions();
    expect(expressions.length).toBeGreaterThanOrEqual(alerts().length);
    expect(expressions.flatMap(unknownNamesIn)).toEqual([]);
  });

  test("use what they record, and record what they use", () => {
    const { expressions, recorded } = ruleExpressions();
    const shown = dashboards().flatMap(({ panels }) => panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)));
    const used = new Set([...expressions, ...shown].flatMap((expression) => expression.match(/perdure:[\w:]+/g) ?? []));
    expect([...used].toSorted()).toEqual([...recorded].toSorted());
  });

  test("have a runbook each, and each runbook an alert", () => {
    const names = alerts().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, severity, runbookUrl } of alerts()) {
      expect(runbookUrl).toBe(`https://perdure.dev/docs/runbooks/${name}.md`);
      expect(["page", "ticket"]).toContain(severity);
      const page = readFileSync(join(RUNBOOKS, `${name}.md`), "utf8");
      for (const heading of [`# ${name}`, "## What it means", "## How to see", "## What to do"]) expect(page).toContain(heading);
    }
    const pages = readdirSync(RUNBOOKS).filter((file) => file !== "README.md");
    expect(pages.toSorted()).toEqual(names.map((name) => `${name}.md`).toSorted());
  });

  test("are listed with their severity in the table of runbooks", () => {
    const rows = [...readFileSync(join(RUNBOOKS, "README.md"), "utf8").matchAll(/^\| \[(\w+)\]\(\w+\.md\) \| (\w+) \|$/gm)];
    expect(rows.map(([, name, severity]) => `${name} ${severity}`)).toEqual(
      alerts().map(({ name, severity }) => `${name} ${severity}`),
    );
  });

  test("each have commands, queries or statements to paste", () => {
    for (const { name } of alerts()) {
      const page = readFileSync(join(RUNBOOKS, `${name}.md`), "utf8");
      const howToSee = page.slice(page.indexOf("## How to see"), page.indexOf("## What to do"));
      expect([name, howToSee]).toEqual([name, expect.stringMatching(/^```(sh|promql|sql)\n.+\n```$/ms)]);
    }
  });

  test("are explained with expressions over existing metrics, and links that lead somewhere", () => {
    for (const file of readdirSync(RUNBOOKS)) {
      const text = readFileSync(join(RUNBOOKS, file), "utf8");
      const code = [...text.matchAll(/`([^`]+)`/g)].map(([, inside]) => inside as string);
      expect([file, code.flatMap(unknownNamesIn).filter((name) => !TABLES.has(name))]).toEqual([file, []]);
      for (const [, link] of text.matchAll(/\]\(([^)#]+)\)/g)) {
        expect([file, link, existsSync(join(RUNBOOKS, link as string))]).toEqual([file, link, true]);
      }
    }
  });
});

describe("dashboards", () => {
  const all = dashboards();

  test("are the four of the specification, with names of their own", () => {
    expect(all.map(({ file }) => file)).toEqual([
      "fleet-overview.json",
      "ingress-and-admin.json",
      "operator-and-control-plane.json",
      "runtime.json",
    ]);
    expect(new Set(all.map(({ uid }) => uid)).size).toBe(4);
  });

  test.each(all)("$file belongs to no Grafana: no id of its own, and a data source that is chosen", (dashboard) => {
    const { id, schemaVersion, templating, panels } = dashboard;
    expect(id).toBeUndefined();
    expect(schemaVersion).toBeGreaterThanOrEqual(39);
    const [source, ...variables] = templating.list;
    expect(source).toMatchObject({ name: "datasource", type: "datasource", query: "prometheus" });
    for (const { name } of variables) expect(readFileSync(join(DASHBOARDS, dashboard.file), "utf8")).toContain(`$${name}`);
    for (const { type, targets = [], datasource } of panels) {
      if (type === "row") continue;
      expect(targets.length).toBeGreaterThan(0);
      const sources = [datasource?.uid, ...targets.map((target) => target.datasource.uid)];
      expect(new Set(sources)).toEqual(new Set([`$\{datasource}`]));
    }
  });

  test.each(all)(
    "$file has panels that links can name, each with a description, and links to the others and to the runbooks",
    (dashboard) => {
      const { panels, links, tags, annotations } = dashboard;
      expect(panels.map(({ id }) => id)).toEqual(panels.map((_, index) => index + 1));
      for (const { type, title, description } of panels)
        if (type !== "row") expect([title, description]).toEqual([title, expect.stringMatching(/./)]);
      expect(links.map(({ type, url }) => [type, url])).toEqual([
        ["dashboards", ""],
        ["link", "https://perdure.dev/docs/runbooks/README.md"],
      ]);
      expect(tags).toEqual(expect.arrayContaining([...(links[0]?.tags ?? [])]));
      expect(annotations.list.map(({ name }) => name)).toEqual(["Releases", "Fail-overs"]);
      expect(annotations.list.flatMap(({ expr }) => unknownNamesIn(withoutVariables(expr)))).toEqual([]);
    },
  );

  test("have titles in the field's terms", () => {
    const titles = all.flatMap(({ panels }) => panels.map(({ title }) => title));
    expect(titles).toEqual(expect.arrayContaining(["Reconciles by result", "Active invocations", "Cache objects"]));
    expect(
      titles.filter((title) => /\blooks?\b|in hand|\bcop(y|ies)\b|\bdoors?\b|\bheard\b|\btold\b|\bquestions\b/i.test(title)),
    ).toEqual([]);
  });

  test(
    "show 0 and not 'No data' where nothing has failed",
    async () => {
      const panels = all
        .flatMap(({ panels }) => panels)
        .filter(({ title }) => /fail|errors|throttl|refus|fenced|retries/i.test(title));
      expect(panels.length).toBeGreaterThan(10);
      const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => withoutVariables(expr)));
      const result = await show(expressions, [], 20);
      expect(result.output).toContain("SUCCESS");
      expect(result.isGood).toBe(true);
    },
    PROMTOOL_MS,
  );

  test.each(all)("$file has no panel over another", ({ panels }) => {
    const occupiedCells = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, occupiedCells.get(`${x},${y}`)]).toEqual([title, undefined]);
          occupiedCells.set(`${x},${y}`, title);
        }
      }
    }
  });

  test.each(all)("$file uses metrics and labels that exist", ({ panels, templating }) => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => withoutVariables(expr)));
    expect(expressions.flatMap(unknownNamesIn)).toEqual([]);
    const definitions = templating.list.flatMap(({ definition }) => (definition === undefined ? [] : [definition]));
    expect(definitions.flatMap(unknownNamesIn)).toEqual([]);
  });

  test(
    "have expressions that Prometheus can read",
    async () => {
      const rules = all.flatMap(({ file, panels }) =>
        panels.flatMap(({ targets = [] }) =>
          targets.map(({ expr }, index) => ({
            record: `dashboard:${file.replace(/\W/g, "_")}:${index}`,
            expr: withoutVariables(expr),
            labels: { at: String(index) },
          })),
        ),
      );
      const numbered = rules.map((rule, index) => ({ ...rule, record: `${rule.record}_${index}` }));
      const directory = mkdtempSync(join(tmpdir(), "perdure-dashboards-"));
      try {
        const file = join(directory, "rules.json");
        writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboards", rules: numbered }] }));
        const result = await runPromtool(["check", "rules", file]);
        expect(result).toMatchObject({ isGood: true, output: expect.stringContaining(`${numbered.length} rules found`) });
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
    PROMTOOL_MS,
  );
});
