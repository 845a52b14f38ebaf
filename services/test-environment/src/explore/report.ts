/** What an exploration has found. */

export type Finding =
  /** The scenario ended in another way than without a crash. */
  | { readonly kind: "outcome-differs"; readonly expected: string; readonly actual: string }
  /** The handler did something else in its replay (RT0016). `at`: the line of the handler, where the SDK reports it. */
  | { readonly kind: "journal-mismatch"; readonly message: string; readonly at: string | undefined }
  /** Invocations that have not completed, which complete without a crash: target and status. */
  | { readonly kind: "left-behind"; readonly invocations: readonly string[] };

/** What happened with a crash at one point. */
export interface PointReport {
  /** For example `Payments/pay#1 charge@1 before-ack`. */
  readonly point: string;
  readonly findings: readonly Finding[];
  /** Steps that executed more than once, and how often: at least the one at which it crashed before its result was stored. */
  readonly repeatedSteps: Readonly<Record<string, number>>;
  /** The line that repeats this case alone. */
  readonly repeat: string;
}

export interface ExploreReport {
  /** Outcome of the scenario without a crash. */
  readonly outcome: string;
  /** Every point at which a crash can happen. */
  readonly points: readonly string[];
  /** Runs with a crash. */
  readonly runs: readonly PointReport[];
  /** The runs with findings. */
  readonly failures: readonly PointReport[];
  /** Points without a run, because a bound was reached. */
  readonly leftOut: readonly string[];
  /** Points that the run with a crash did not reach: the scenario does not do the same each time. */
  readonly notReached: readonly string[];
  /** Lines for a person. */
  toString(): string;
}

export function reportOf(parts: Omit<ExploreReport, "failures" | "toString">): ExploreReport {
  const failures = parts.runs.filter(({ findings }) => findings.length > 0);
  return { ...parts, failures, toString: () => textOf({ ...parts, failures }) };
}

function textOf({ points, runs, failures, leftOut, notReached }: Omit<ExploreReport, "toString">): string {
  const lines = [`${runs.length} of ${points.length} points explored, ${failures.length} with findings`];
  for (const { point, findings, repeat } of failures) {
    lines.push(`crash at ${point}`, ...findings.map((finding) => `  ${findingText(finding)}`), `  repeat: ${repeat}`);
  }
  const repeated = new Set(runs.flatMap(({ repeatedSteps }) => Object.keys(repeatedSteps)));
  if (repeated.size > 0) lines.push(`steps that can execute more than once: ${[...repeated].join(", ")}`);
  if (leftOut.length > 0) lines.push(`${leftOut.length} points left out: raise runsMax or timeMsMax`);
  if (notReached.length > 0) lines.push(`not reached again: ${notReached.join(", ")}`);
  return lines.join("\n");
}

function findingText(finding: Finding): string {
  switch (finding.kind) {
    case "outcome-differs":
      return `outcome differs: ${finding.actual} instead of ${finding.expected}`;
    case "journal-mismatch":
      return `journal mismatch (RT0016)${finding.at === undefined ? "" : ` at ${finding.at}`}: ${finding.message}`;
    case "left-behind":
      return `left behind: ${finding.invocations.join(", ")}`;
  }
}
