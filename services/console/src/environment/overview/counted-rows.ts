/** Converts the counters of workers into the rows of the overview. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { countOf, numberOf, textOf } from "../rows.js";
import { BY_ENDED, BY_MADE, BY_SERVICE, WHOLE } from "./figures.js";

/** Time since which every invocation is counted; undefined when a worker has not reported or does not count all of them. */
export function countedSince(rows: readonly SqlRow[]): number | undefined {
  const [row = {}] = rows;
  const reported = numberOf(row, "reported");
  if (reported === 0 || reported !== numberOf(row, "nodes") || reported !== numberOf(row, "complete")) return undefined;
  return countOf(row, "since");
}

/** Completed invocations of one class of durations. */
interface DurationClass {
  readonly msMax: number;
  readonly count: number;
}

/** The rows of `trafficStatement` from the counts by service and by point. */
export function rowsOfCounts(counts: readonly SqlRow[]): readonly SqlRow[] {
  const ofServices = counts.filter((row) => textOf(row, "service") !== undefined);
  const byService = Map.groupBy(ofServices, (row) => textOf(row, "service"));
  const byPoint = Map.groupBy(
    counts.filter((row) => countOf(row, "at") !== undefined),
    (row) => numberOf(row, "at"),
  );
  return [
    ...[...byService].map(([service, rows]) => ({ service, part: BY_SERVICE, ...figuresOf(rows) })),
    ...[...byPoint].map(([made, rows]) => ({ made, part: BY_MADE, n: sumOf(rows, "created") })),
    ...[...byPoint].map(([ended, rows]) => ({ ended, part: BY_ENDED, ...figuresOf(rows) })),
    { part: WHOLE, ...figuresOf(ofServices) },
  ];
}

function figuresOf(rows: readonly SqlRow[]): SqlRow {
  const classes = rows
    .flatMap((row): readonly DurationClass[] => {
      const msMax = countOf(row, "ms");
      return msMax === undefined ? [] : [{ msMax, count: numberOf(row, "completed") }];
    })
    .sort((a, b) => a.msMax - b.msMax);
  const [p50, p99] = [quantileOf(classes, 0.5), quantileOf(classes, 0.99)];
  return {
    n: sumOf(rows, "created"),
    n_ended: sumOf(rows, "completed"),
    failed: sumOf(rows, "failed"),
    ...(p50 === undefined ? {} : { p50 }),
    ...(p99 === undefined ? {} : { p99 }),
  };
}

function sumOf(rows: readonly SqlRow[], column: string): number {
  return rows.reduce((sum, row) => sum + numberOf(row, column), 0);
}

/** Each class begins at its bound divided by this; durations are assumed to be spread evenly within a class. */
const CLASS_RATIO = Math.SQRT2;

/** Undefined when nothing has completed. */
function quantileOf(classes: readonly DurationClass[], share: number): number | undefined {
  const total = classes.reduce((sum, { count }) => sum + count, 0);
  let before = 0;
  for (const { msMax, count } of classes) {
    if (count > 0 && before + count >= share * total) {
      const least = msMax / CLASS_RATIO;
      return Math.round(least + ((msMax - least) * (share * total - before)) / count);
    }
    before += count;
  }
  return undefined;
}
