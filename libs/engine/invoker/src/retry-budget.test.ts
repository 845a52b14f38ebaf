import { describe, expect, test } from "@jest/globals";
import type { RetryPolicy } from "@perdure/control";
import { SeededRandom } from "@perdure/testkit";
import { RetryBudget } from "./retry-budget.js";

const policy: RetryPolicy = { initialIntervalMs: 500, factor: 2, maxIntervalMs: 60_000, maxAttempts: 70, onMaxAttempts: "pause" };

describe("a retry budget", () => {
  test("grows by the factor up to the cap, each delay up to a third longer by chance", () => {
    const budget = new RetryBudget(new SeededRandom(1), undefined);
    const delays = Array.from({ length: 12 }, () => budget.next(policy)!);
    delays.forEach((delay, k) => {
      const base = Math.min(500 * 2 ** k, 60_000);
      expect(delay).toBeGreaterThanOrEqual(base);
      expect(delay).toBeLessThanOrEqual((base * 4) / 3);
    });
    expect(new Set(delays.map((delay, k) => delay / Math.min(500 * 2 ** k, 60_000))).size).toBe(12);
  });

  test("allows one delay less than attempts, and none for a single attempt", () => {
    const delaysOf = (maxAttempts: number | undefined, cap?: number) => {
      const budget = new RetryBudget(new SeededRandom(1), cap);
      let count = 0;
      while (count < 100 && budget.next({ ...policy, maxAttempts }) !== undefined) count++;
      return count;
    };
    expect([delaysOf(3), delaysOf(1), delaysOf(0), delaysOf(undefined), delaysOf(undefined, 5), delaysOf(10, 2)]).toEqual([
      2, 0, 0, 100, 4, 1,
    ]);
  });

  test("stays finite without a cap on the interval", () => {
    const budget = new RetryBudget(new SeededRandom(1), undefined);
    let longest = 0;
    for (let i = 0; i < 5_000; i++)
      longest = Math.max(longest, budget.next({ ...policy, maxIntervalMs: undefined, maxAttempts: undefined })!);
    expect(longest).toBeLessThan(2 * 365 * 24 * 3_600_000);
  });

  test("keeps what was used when the policy changes, and starts over when reset", () => {
    const budget = new RetryBudget(new SeededRandom(1), undefined);
    budget.next(policy);
    budget.next(policy);
    expect(budget.next({ ...policy, initialIntervalMs: 10 })).toBeGreaterThanOrEqual(40);
    expect(budget.next({ ...policy, maxAttempts: 4 })).toBeUndefined();
    budget.reset();
    expect(budget.next({ ...policy, initialIntervalMs: 10, maxAttempts: 4 })).toBeLessThan(14);
  });
});
