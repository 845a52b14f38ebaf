/** The monitoring of the chart: rules and dashboards are rendered unchanged, and every program is scraped. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { runHelm, runPromtool } from "@perdure/servers";
import { parse, stringify } from "yaml";
import { CHART, nameOf, type Rendered, render, selects, templateOf, workloadsIn } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 180_000;

let objects: readonly Rendered[];

beforeAll(async () => {
  await runHelm("version");
  objects = await render({ values: "everything" });
}, FIRST_MS);

const named = (name: string): Rendered => objects.find((object) => nameOf(object) === name) as Rendered;

/** A file of the chart with the address of runbooks that the values give. */
const withRunbooks = (file: string): string =>
  readFileSync(join(CHART, file), "utf8").replaceAll(
    "https://perdure.dev/docs/runbooks",
    "https://wiki.example.org/perdure/runbooks",
  );

test(
  "alerts come as they are written with the runbooks' own address, programs of the release must be there, and Prometheus takes them",
  async () => {
    const { spec, metadata } = named("PrometheusRule/perdure");
    const written = parse(withRunbooks("alerts/perdure.rules.yaml")) as { groups: readonly unknown[] };
    const groups = (spec as unknown as { groups: readonly { name: string; rules: readonly { alert: string; expr: string }[] }[] })
      .groups;
    expect(groups.slice(0, -1)).toEqual(written.groups);
    const installed = groups.at(-1);
    expect(installed?.name).toBe("perdure-installed");
    expect(installed?.rules.map(({ alert, expr }) => [alert, expr])).toEqual(
      ["cloud-gateway", "tenancy", "operator", "tunnel-relay"].map((role) => [
        "PerdureComponentAbsent",
        `absent(perdure_build_info{role="${role}",cell="c7"})`,
      ]),
    );
    expect(metadata.labels).toMatchObject({ release: "prometheus" });
    const folder = mkdtempSync(join(tmpdir(), "perdure-rules-"));
    try {
      writeFileSync(join(folder, "rules.yaml"), stringify(spec));
      expect(await runPromtool(["check", "rules", join(folder, "rules.yaml")])).toMatchObject({ isGood: true });
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  TEST_MS,
);

test("dashboards are rendered unchanged, each where Grafana reads it", () => {
  const files = readdirSync(join(CHART, "dashboards"));
  expect(files.length).toBeGreaterThanOrEqual(4);
  for (const file of files) {
    const map = named(`ConfigMap/perdure-dashboard-${file.replace(".json", "")}`) as Rendered & { data: Record<string, string> };
    expect(map.metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(JSON.parse(map.data[file] as string)).toEqual(JSON.parse(withRunbooks(join("dashboards", file))));
  }
});

test("every program of the platform is scraped once, with its region and cell", () => {
  const { spec } = named("ServiceMonitor/perdure");
  const { values } = (spec.selector as unknown as { matchExpressions: readonly [{ values: readonly string[] }] })
    .matchExpressions[0];
  const services = objects.filter(
    ({ kind, spec: service, metadata }) =>
      kind === "Service" &&
      values.includes(metadata.labels?.["app.kubernetes.io/component"] ?? "") &&
      (service.ports ?? []).some(({ name }) => name === "probes"),
  );
  const programs = workloadsIn(objects).filter(({ kind }) => kind !== "Job");
  expect(services).toHaveLength(programs.length);
  for (const program of programs) {
    const { labels } = templateOf(program).metadata;
    expect(services.filter(({ spec: service }) => selects(service.selector ?? { none: "" }, labels))).toHaveLength(1);
  }
  const endpoints = spec["endpoints"] as readonly [{ relabelings: readonly unknown[] }];
  expect(endpoints[0].relabelings).toEqual([
    { targetLabel: "region", replacement: "eu.private" },
    { targetLabel: "cell", replacement: "c7" },
  ]);
  expect(JSON.stringify(named("PodMonitor/perdure-runtimes").spec)).toContain('"targetLabel":"env"');
});
