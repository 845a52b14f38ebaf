/** Parses the parts of Prometheus' text format that the suites use. */

export const roles = [
  "standalone",
  "gateway",
  "worker",
  "registry",
  "admin",
  "tenancy",
  "cloud-gateway",
  "tunnel-relay",
  "operator",
] as const;
export type Role = (typeof roles)[number];

export interface ScrapedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Names of labels in the scrape, without `le` of histograms. */
  readonly labels: Set<string>;
  /** Series with their labels as they were written, `name{a="b"}`, and their values. */
  readonly samples: Map<string, number>;
}

/** Rejects when the connection fails or the status is not 200. */
export async function scrape(url: string): Promise<ReadonlyMap<string, ScrapedMetric>> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return parseMetrics(await response.text());
}

export function parseMetrics(text: string): ReadonlyMap<string, ScrapedMetric> {
  const metrics = new Map<string, ScrapedMetric>();
  let help = "";
  let current: ScrapedMetric | undefined;
  for (const line of text.split("\n")) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === "HELP") help = rest;
    else if (kind === "TYPE") {
      current = { name, type: rest, help, labels: new Set(), samples: new Map() };
      metrics.set(name, current);
    } else if (line !== "" && current !== undefined) {
      const [, series = "", , labels = "", value] = /^(([a-z0-9_]+)(?:\{(.*)\})?) (\S+)$/.exec(line) ?? [];
      if (!series.startsWith(current.name)) throw new Error(`'${line}' does not belong to ${current.name}`);
      for (const [, label] of labels.matchAll(/([a-z_]+)="/g)) if (label !== "le") current.labels.add(label as string);
      current.samples.set(series, Number(value));
    }
  }
  return metrics;
}
