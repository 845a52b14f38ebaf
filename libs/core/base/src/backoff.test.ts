import { describe, expect, test } from "@jest/globals";
import { Backoff, backoffMs } from "./backoff.js";
import type { Random } from "./random.js";

const BOUNDS = { firstMs: 100, longestMs: 1_000 };

/** Numbers that are spread evenly over 0 … 1: multiples of the golden ratio, modulo 1. */
function seeded(seed: number): Random {
  let at = seed / 7;
  const float = (): number => {
    at = (at + 0.618_033_988_749_895) % 1;
    return at;
  };
  return { float, uint32: () => Math.floor(float() * 2 ** 32), bytes: () => undefined };
}

describe("a pause after a failure", () => {
  test("is anywhere between nothing and a bound that doubles up to the longest", () => {
    const random = seeded(7);
    for (const [failures, boundMs] of [100, 200, 400, 800, 1_000, 1_000].entries()) {
      const pauses = Array.from({ length: 2_000 }, () => backoffMs(failures, BOUNDS, random));
      expect(Math.max(...pauses)).toBeLessThanOrEqual(boundMs);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(0);
      for (let part = 0; part < 4; part++) {
        const inside = pauses.filter((ms) => ms > (part * boundMs) / 4 && ms <= ((part + 1) * boundMs) / 4);
        expect(inside.length).toBeGreaterThan(400); // A quarter of them is 500.
      }
    }
  });

  test("is a whole number of milliseconds, however many failures precede it", () => {
    const random = seeded(1);
    for (const failures of [0, 1, 31, 2_000, Number.MAX_SAFE_INTEGER]) {
      const pauseMs = backoffMs(failures, { firstMs: 0.5, longestMs: 999 }, random);
      expect(Number.isInteger(pauseMs) && pauseMs <= 999).toBe(true);
    }
  });
});

test("a client waits for longer with each failure, and for the first pause again after a success", () => {
  const longest = { float: () => 1 - Number.EPSILON, uint32: () => 0, bytes: () => undefined };
  const backoff = new Backoff(BOUNDS, longest);
  expect(Array.from({ length: 6 }, () => backoff.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(backoff.failures).toBe(6);
  backoff.reset();
  expect([backoff.next(), backoff.failures]).toEqual([100, 1]);
});

test("the pauses of two clients follow their seeds, and are repeatable", () => {
  const pausesOf = (seed: number) => {
    const backoff = new Backoff(BOUNDS, seeded(seed));
    return Array.from({ length: 5 }, () => backoff.next());
  };
  expect(pausesOf(1)).toEqual(pausesOf(1));
  expect(pausesOf(1)).not.toEqual(pausesOf(2));
});
