/** Parses the table of metrics in the docs, so that tests can compare it with real metrics. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@perdure/dev-cluster";
import { type Role, roles } from "./scrape.js";

export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: ReadonlySet<string>;
  readonly unit: string;
  readonly roles: ReadonlySet<Role>;
  readonly meaning: string;
}

/** Labels that a scrape gives, not the process. */
export const SCRAPE_LABELS: ReadonlySet<string> = new Set([
  ...["env", "region", "cell", "pod", "job", "instance"],
  ...["namespace", "persistentvolumeclaim"], // Of kubelets, about volumes.
]);

/** Throws for a row that has not the form of the others. */
export function documentedMetrics(): ReadonlyMap<string, DocumentedMetric> {
  const text = readFileSync(join(ROOT, "docs/operating/metrics.md"), "utf8");
  const metrics = new Map<string, DocumentedMetric>();
  for (const line of text.split("\n")) {
    if (!line.startsWith("| `")) continue;
    const cells = line.split("|").map((cell) => cell.trim());
    const [, name = "", type = "", labels = "", unit = "", reportedBy = "", meaning = ""] = cells;
    if (cells.length !== 8) throw new Error(`a row has ${cells.length - 2} cells: ${line}`);
    const bare = name.replaceAll("`", "");
    if (metrics.has(bare)) throw new Error(`${bare} is there twice`);
    metrics.set(bare, {
      name: bare,
      type,
      labels: new Set([...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label as string)),
      unit,
      roles: new Set(reportedBy === "all" ? roles : reportedBy.split(", ").map(roleOf)),
      meaning,
    });
  }
  return metrics;
}

function roleOf(text: string): Role {
  const role = roles.find((each) => each === text);
  if (role === undefined) throw new Error(`there is no role '${text}'`);
  return role;
}
