/** Formats measured pauses as a table, one line for each kind of fault. */
import type { FaultReport } from "./rig.js";

/** Markdown: how often, and over all partitions hit the median, the 95th percentile and the longest pause, in ms. */
export function tableOf(reports: readonly FaultReport[]): string {
  const byName = Map.groupBy(reports, ({ fault }) => fault);
  const lines = [...byName].map(([fault, all]) => {
    const pauses = all.flatMap(({ pausesMs }) => pausesMs).sort((a, b) => a - b);
    const quiet = Math.max(...all.map(({ quietMs }) => quietMs));
    const cells = [quantile(pauses, 0.5), quantile(pauses, 0.95), pauses.at(-1) ?? 0, quiet].map((value) => Math.round(value));
    return `| ${fault} | ${all.length} | ${cells.join(" | ")} |`;
  });
  return [
    "| fault | times | median pause, ms | 95 % | longest | longest time without any answer |",
    "|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** Returns a quantile of ascending values; `part` is from 0 to 1. */
function quantile(values: readonly number[], part: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;
}
