import { expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { TAIL_SPANS_PER_SECOND } from "./limits.js";
import { Sampler } from "./sampling.js";

const parent = (sampled: boolean) => ({ traceId: "a".repeat(32), spanId: "b".repeat(16), sampled });

test("of traces that begin here the configured ratio is kept", () => {
  const sampler = new Sampler({ ratio: 0.25 }, new SeededRandom(7));
  const kept = Array.from({ length: 4_000 }, () => sampler.keeps(undefined, false)).filter(Boolean).length;
  expect(kept).toBeGreaterThan(850);
  expect(kept).toBeLessThan(1_150);
  const none = new Sampler({ ratio: 0 }, new SeededRandom(7));
  expect(Array.from({ length: 100 }, () => none.keeps(undefined, false))).not.toContain(true);
});

test("a caller's decision stands, unless this very trace is requested", () => {
  const all = new Sampler({ ratio: 1 }, new SeededRandom(7));
  const none = new Sampler({ ratio: 0 }, new SeededRandom(7));
  expect([all.keeps(parent(false), false), none.keeps(parent(true), false)]).toEqual([false, true]);
  expect([none.keeps(parent(false), true), none.keeps(undefined, true)]).toEqual([true, true]);
});

test("failed and slow spans are kept at their end, up to a number per second", () => {
  const sampler = new Sampler({ ratio: 0 }, new SeededRandom(7));
  expect(sampler.keepsTail(undefined, 100, 0)).toBe(false);
  expect(sampler.keepsTail(undefined, 5_000, 0)).toBe(true);
  const failures = (atMs: number) =>
    Array.from({ length: 100 }, () => sampler.keepsTail("RT0006", 1, atMs)).filter(Boolean).length;
  expect(failures(0)).toBe(TAIL_SPANS_PER_SECOND - 1);
  expect(failures(500)).toBe(TAIL_SPANS_PER_SECOND / 2);
  expect(failures(1_500)).toBe(TAIL_SPANS_PER_SECOND);
});
