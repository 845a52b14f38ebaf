import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RateLimiter, TokenBucket } from "./rate-limiter.js";

describe("a bucket", () => {
  test("lets a burst pass at once, then as many as time brings, and a long silence saves up no more", () => {
    const bucket = new TokenBucket({ perSecond: 2, burst: 2 }, 0);
    expect([bucket.take(0), bucket.take(0), bucket.take(0)]).toEqual([true, true, false]);
    expect([bucket.take(499), bucket.take(500), bucket.take(501)]).toEqual([false, true, false]);
    expect([bucket.take(60_000), bucket.take(60_000), bucket.take(60_000)]).toEqual([true, true, false]);
  });

  test("takes several tokens or none, and for a cost above the burst all of them", () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 4 }, 0);
    expect([bucket.take(0, 3), bucket.take(0, 3), bucket.remaining]).toEqual([true, false, 1]);
    expect([bucket.msUntil(3), bucket.retryAfterSeconds(3), bucket.secondsToFull]).toEqual([2_000, 2, 3]);
    expect([bucket.take(2_999, 100), bucket.take(3_000, 100), bucket.remaining]).toEqual([false, true, 0]);
  });

  test("that is overdrawn refuses until later tokens have paid for it", () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, 0);
    expect([bucket.overdraw(0), bucket.overdraw(0), bucket.has(0)]).toEqual([true, false, false]);
    expect([bucket.msUntil(0), bucket.msUntil(1)]).toEqual([1_000, 2_000]);
    expect([bucket.take(1_999), bucket.take(2_000)]).toEqual([false, true]);
  });

  test("that changes keeps what was used, and has what was added at once", () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 2 }, 0);
    expect([bucket.take(0), bucket.take(0)]).toEqual([true, true]);
    bucket.change({ perSecond: 1, burst: 5 }, 0);
    expect(bucket.remaining).toBe(3);
    bucket.change({ perSecond: 1, burst: 1 }, 0);
    expect([bucket.remaining, bucket.burst]).toEqual([0, 1]);
  });

  test("with a part of the rate gains no tokens when the part falls and rises", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 10 }, 0);
    bucket.divide(0.5, 0);
    expect([bucket.burst, bucket.remaining]).toEqual([5, 5]);
    bucket.divide(1, 0);
    expect([bucket.burst, bucket.remaining, bucket.secondsToFull]).toEqual([10, 5, 1]);
  });

  test("that never fills requests a retry in an hour", () => {
    const bucket = new TokenBucket({ perSecond: 0, burst: 1 }, 0);
    expect([bucket.take(0), bucket.take(3_600_000), bucket.retryAfterSeconds()]).toEqual([true, false, 3_600]);
  });

  test("never allows more than its burst and what its rate adds, and a request after the announced time succeeds", () => {
    const step = fc.record({ waitMs: fc.double({ min: 0, max: 3_000, noNaN: true }), cost: fc.integer({ min: 1, max: 5 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(step, { maxLength: 80 }),
        (perSecond, burst, steps) => {
          const bucket = new TokenBucket({ perSecond, burst }, 0);
          let nowMs = 0;
          let acquiredCount = 0;
          for (const { waitMs, cost } of steps) {
            nowMs += waitMs;
            if (bucket.take(nowMs, cost)) {
              acquiredCount += Math.min(cost, burst);
            } else {
              nowMs += bucket.msUntil(cost);
              expect(bucket.take(nowMs, cost)).toBe(true);
              acquiredCount += Math.min(cost, burst);
            }
            expect(acquiredCount).toBeLessThanOrEqual(burst + (nowMs / 1_000) * perSecond + 1e-6);
          }
        },
      ),
    );
  });
});

describe("a limiter", () => {
  let nowMs = 0;
  const clock = { nowMs: () => 0, monotonicMs: () => nowMs, setTimer: () => ({ cancel() {} }) };

  test("counts each key alone, and returns when a refused request may be repeated", () => {
    const limiter = new RateLimiter<string>(clock, { perSecond: 0.5, burst: 1 }, 10);
    expect([limiter.take("a"), limiter.take("b"), limiter.take("a")]).toEqual([
      { kind: "allowed" },
      { kind: "allowed" },
      { kind: "limited", retryAfterSeconds: 2 },
    ]);
    nowMs += 2_000;
    expect(limiter.take("a").kind).toBe("allowed");
  });

  test("evicts the key that was used longest ago, which starts with a full bucket again", () => {
    const limiter = new RateLimiter<string>(clock, { perSecond: 0.001, burst: 1 }, 2);
    const kinds = ["a", "b", "a", "c", "a", "b"].map((key) => limiter.take(key).kind);
    expect(kinds).toEqual(["allowed", "allowed", "limited", "allowed", "limited", "allowed"]);
  });
});
