/**
 * Compares a run with records of earlier ones by the CPU that an invocation costs Perdure. On the machine of the record the least values of
 * the rounds are compared; on another one their ratios to the reference, which both runs have to have measured.
 */

import { table } from "./figures.js";
import type { EndpointKind } from "./kinds.js";
import { type BenchRecord, leastOf, type RecordedRow } from "./record.js";

/** A run may cost this much more than the last one. */
export const GROWTH_MAX = 0.1;

export interface Comparison {
  readonly row: string;
  readonly endpoint: EndpointKind;
  readonly figure: string;
  /** Commit of the record; undefined when no record has the figure. */
  readonly commit: string | undefined;
  /** Microseconds on the same machine, else ratios to the reference. */
  readonly then: number | undefined;
  readonly now: number;
  /** 0.1 is a tenth more than then; undefined without a record. */
  readonly growth: number | undefined;
}

/** One comparison for each CPU figure that Perdure has in the run. `records`: the newest first. */
export function compare(run: BenchRecord, records: readonly BenchRecord[]): readonly Comparison[] {
  return run.rows.flatMap((row) =>
    Object.entries(row.figures)
      .filter(([, figure]) => figure.isCpu === true)
      .flatMap(([key, { title }]) => {
        const compared = compareFigure(run, row, key, records);
        return compared === undefined ? [] : [{ row: row.name, endpoint: row.endpoint, figure: title, ...compared }];
      }),
  );
}

export const hasGrown = ({ growth }: Comparison): boolean => growth !== undefined && growth > GROWTH_MAX;

type Values = Pick<Comparison, "commit" | "then" | "now" | "growth">;

function compareFigure(run: BenchRecord, row: RecordedRow, key: string, records: readonly BenchRecord[]): Values | undefined {
  const now = leastOf(row.servers.perdure, key);
  if (now === undefined) return undefined;
  const sameMachine = records.filter(({ machine }) => machine.model === run.machine.model && machine.cpus === run.machine.cpus);
  return (
    newest(sameMachine, row, now, (each) => leastOf(each.servers.perdure, key)) ??
    newest(records, row, ratioOf(row, key), (each) => ratioOf(each, key)) ?? {
      commit: undefined,
      then: undefined,
      now,
      growth: undefined,
    }
  );
}

function newest(
  records: readonly BenchRecord[],
  row: RecordedRow,
  now: number | undefined,
  figureOf: (recorded: RecordedRow) => number | undefined,
): Values | undefined {
  if (now === undefined) return undefined;
  for (const { commit, rows } of records) {
    const recorded = rows.find(({ name, endpoint }) => name === row.name && endpoint === row.endpoint);
    const then = recorded === undefined ? undefined : figureOf(recorded);
    if (then !== undefined) return { commit, then, now, growth: now / then - 1 };
  }
  return undefined;
}

function ratioOf({ servers }: RecordedRow, key: string): number | undefined {
  const [ours, theirs] = [leastOf(servers.perdure, key), leastOf(servers.reference, key)];
  return ours === undefined || theirs === undefined ? undefined : ours / theirs;
}

export function comparisonTable(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map((each) => [
    `${each.row}: ${each.figure}`,
    each.endpoint,
    each.commit ?? "no record",
    each.then === undefined ? "–" : number(each.then),
    number(each.now),
    each.growth === undefined ? "–" : `${each.growth >= 0 ? "+" : ""}${(each.growth * 100).toFixed(0)} %`,
    each.growth === undefined ? "–" : hasGrown(each) ? "**too much**" : "yes",
  ]);
  return table(["Work", "Endpoint", "Record", "Then", "Now", "Growth", `≤ ${GROWTH_MAX * 100} %`], rows);
}

const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
