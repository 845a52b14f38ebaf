/** A cell that gets hundreds of environments at once: all come to be ready, at a bounded rate, and the operator stays small. */
import { beforeAll, expect, test } from "@jest/globals";
import { type CrowdFigures, measureCrowd } from "./measured-crowd.js";
import { bundleOperator } from "./program.js";

const FIRST_MS = 45 * 60_000;
const COUNT = 500;
const PER_SECOND = 100;
/** Alone on two processors it takes a third of this at most; a machine that is three times slower is not a reason to fail. */
const READY_MS = 900_000;
/** Size of the bucket: reconciles before the rate counts. */
const BURST = 100;

let figures: CrowdFigures;

beforeAll(async () => {
  await bundleOperator();
  figures = await measureCrowd({ count: COUNT, perSecond: PER_SECOND, readyWithinMs: READY_MS, quietMs: 5_000 });
}, FIRST_MS + READY_MS);

const requests = (spent: CrowdFigures["growing"]): number => Object.values(spent.requests).reduce((sum, one) => sum + one, 0);

test("500 environments at once all become ready, and no reconcile of one of them fails by a mistake of ours", () => {
  expect(figures.growing.reconciles).toBeGreaterThanOrEqual(COUNT);
  expect(figures.results["error"] ?? 0).toBeLessThan(COUNT / 10);
});

test("reconciles of environments keep to the configured rate", () => {
  const { reconciles, seconds } = figures.growing;
  expect(reconciles).toBeLessThanOrEqual(PER_SECOND * seconds + BURST);
});

test("each costs the API server a bounded number of requests, and a cell in which nothing happens hardly any", () => {
  expect(requests(figures.growing) / COUNT).toBeLessThan(120);
  // The lease, and environments whose random resync is due.
  expect(requests(figures.quiet) / figures.quiet.seconds).toBeLessThan(20);
});

test("the operator's memory is bounded", () => {
  expect(figures.peakMiB).toBeLessThan(700);
});
