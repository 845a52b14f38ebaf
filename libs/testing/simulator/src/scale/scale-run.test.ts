import { expect, test } from "@jest/globals";
import { LeaderGaps, type SampledWorker } from "./leader-gaps.js";
import { quantilesOf } from "./quantiles.js";
import { type ScaleOptions, simulateScale } from "./scale-run.js";

const SMALL: ScaleOptions = { seed: 7, partitions: 48, workers: 6, failures: 6, callers: 30 };
/** A lease of 2 s, its detection, and the reads of a new leader. */
const RECOVERY_MS_MAX = 3_000;

test("every partition has a leader again within three seconds, whichever worker of a cluster fails, and no rule is broken", async () => {
  const report = await simulateScale(SMALL);
  expect(report.findings).toEqual([]);
  expect(report.startMs.balanced).toBeLessThan(10_000);
  for (const { count, gapMs, unbalanced } of report.failures) {
    expect({ count, unbalanced }).toEqual({ count: 2, unbalanced: 0 });
    expect(gapMs.count).toBeGreaterThan(0);
    expect(gapMs.max).toBeLessThan(RECOVERY_MS_MAX);
  }
  // A drained worker hands over while it runs; the leases of a killed one must end first.
  const [kill, drain] = report.failures;
  expect(drain?.gapMs.max).toBeLessThan(kill?.gapMs.median ?? 0);
  expect(report.invocations).toBeGreaterThanOrEqual(SMALL.callers);
}, 60_000);

test("equal seeds give equal reports", async () => {
  const options = { ...SMALL, partitions: 12, workers: 3, failures: 3, callers: 10 };
  expect(await simulateScale(options)).toEqual(await simulateScale(options));
}, 60_000);

test("a partition whose leader is stopped counts as one without a leader", () => {
  const worker = (name: string, paused: boolean, leading: readonly number[]): SampledWorker => ({
    body: { name, paused },
    leading,
  });
  const gaps = new LeaderGaps(3, 0);
  gaps.sample([worker("a", false, [0, 1]), worker("b", false, [2])], 10);
  expect([gaps.open, gaps.isBalanced]).toEqual([0, true]);
  gaps.sample([worker("a", true, [0, 1]), worker("b", false, [2])], 20);
  expect([gaps.open, gaps.isBalanced]).toEqual([2, false]);
  gaps.sample([worker("b", false, [0, 1, 2])], 50);
  expect(gaps.closed.filter(({ fromMs }) => fromMs > 0)).toEqual([
    { partition: 0, fromMs: 20, untilMs: 50 },
    { partition: 1, fromMs: 20, untilMs: 50 },
  ]);
  expect(quantilesOf(gaps.closed.map(({ fromMs, untilMs }) => untilMs - fromMs))).toEqual({
    count: 5,
    median: 10,
    p99: 30,
    max: 30,
  });
});
