/**
 * Runs a scenario once for every point at which a crash can happen, each time in a new environment, and compares with the run without a
 * crash.
 */
import { createHash } from "node:crypto";
import { EXPLORED_MS_MAX, EXPLORED_RUNS_MAX, RUN_MS_MAX } from "../limits.js";
import { type ExploreReport, type Finding, type PointReport, reportOf } from "./report.js";
import { type RunRecord, runOnce, type Scenario, type StartEnvironment } from "./run-once.js";

export interface ExploreOptions {
  /** everywhere: before and after each step is stored, and while it executes, so that two attempts overlap. */
  readonly crashes?: "everywhere" | undefined;
  /** One point of an earlier report, to repeat it. */
  readonly only?: string | undefined;
  /** Bounds of the number of runs and of real time; 500 runs and 60 s by default. */
  readonly runsMax?: number | undefined;
  readonly timeMsMax?: number | undefined;
  /** Chooses the points when there are more than `runsMax`. */
  readonly seed?: number | undefined;
  /** Real time of one run; 10 s by default. */
  readonly runMsMax?: number | undefined;
}

export async function explore(
  start: StartEnvironment,
  scenario: Scenario,
  { only, runsMax = EXPLORED_RUNS_MAX, timeMsMax = EXPLORED_MS_MAX, seed = 1, runMsMax = RUN_MS_MAX }: ExploreOptions,
): Promise<ExploreReport> {
  const untilMs = performance.now() + timeMsMax;
  const plain = await runOnce(start, scenario, { crashAt: undefined, runMsMax });
  const points = [...new Set(plain.points)];
  const candidates = only === undefined ? shuffled(points, seed) : [only];
  const chosen = new Set(candidates.slice(0, runsMax));
  const runs: PointReport[] = [];
  const leftOut = candidates.slice(runsMax);
  const notReached: string[] = [];
  for (const point of only === undefined ? points : candidates) {
    if (!chosen.has(point)) continue;
    if (performance.now() > untilMs) {
      leftOut.push(point);
      continue;
    }
    const record = await runOnce(start, scenario, { crashAt: point, runMsMax });
    if (!record.isCrashed) notReached.push(point);
    else runs.push(compare(point, plain, record));
  }
  return reportOf({ outcome: plain.outcome, points, runs, leftOut, notReached });
}

function compare(point: string, plain: RunRecord, crashed: RunRecord): PointReport {
  const findings: Finding[] = [];
  if (crashed.outcome !== plain.outcome) {
    findings.push({ kind: "outcome-differs", expected: plain.outcome, actual: crashed.outcome });
  }
  if (crashed.mismatch !== undefined) findings.push({ kind: "journal-mismatch", ...crashed.mismatch });
  const invocations = crashed.unfinished.filter((one) => !plain.unfinished.includes(one));
  if (invocations.length > 0) findings.push({ kind: "left-behind", invocations });
  const repeated = [...crashed.executions].filter(([step, count]) => count > (plain.executions.get(step) ?? 1));
  return {
    point,
    findings,
    repeatedSteps: Object.fromEntries(repeated),
    repeat: `await env.explore(scenario, { only: ${JSON.stringify(point)} })`,
  };
}

/** An order of its own for each seed, so that a seed always chooses the same points. */
function shuffled(points: readonly string[], seed: number): string[] {
  const ranks = new Map(points.map((point) => [point, createHash("sha256").update(`${seed} ${point}`).digest("hex")]));
  const rankOf = (point: string): string => ranks.get(point) ?? "";
  return points.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}
