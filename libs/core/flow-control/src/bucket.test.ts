import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { availableOf, book, isFull, opensAtMs } from "./bucket.js";
import type { FlowRate } from "./rule.js";

const START_MS = 1_795_000_000_000;

/** Starts whenever the bucket allows it, or sometimes later; returns the times. */
function starts(rate: FlowRate, random: SeededRandom, count: number): number[] {
  const times: number[] = [];
  let booked = 0;
  let nowMs = START_MS;
  while (times.length < count) {
    const opens = opensAtMs(booked, rate, nowMs);
    if (opens <= nowMs) {
      booked = book(booked, rate, nowMs);
      times.push(nowMs);
    } else {
      nowMs = opens;
    }
    if (random.chance(0.2)) nowMs += random.below(3 * rate.periodMs);
  }
  return times;
}

describe("a bucket", () => {
  test.each<FlowRate>([
    { limit: 10, periodMs: 1_000, burst: 1 },
    { limit: 3, periodMs: 1_000, burst: 5 },
    { limit: 1, periodMs: 60_000, burst: 2 },
    { limit: 7, periodMs: 100, burst: 20 },
    { limit: 5_000, periodMs: 1_000, burst: 10 },
  ])("lets at most burst + rate × t through in any window ($limit per $periodMs ms, burst $burst)", (rate) => {
    for (let seed = 1; seed <= 20; seed++) {
      const times = starts(rate, new SeededRandom(seed), 120);
      let excess = 0;
      for (let from = 0; from < times.length; from++) {
        for (let to = from; to < times.length; to++) {
          const windowMs = (times[to] as number) - (times[from] as number);
          excess = Math.max(excess, to - from + 1 - rate.burst - (windowMs * rate.limit) / rate.periodMs);
        }
      }
      expect(excess).toBeLessThan(1e-6);
    }
  });

  test("is not slower than its rule either, up to a millisecond a start", () => {
    const rate = { limit: 10, periodMs: 1_000, burst: 3 };
    let booked = 0;
    let nowMs = START_MS;
    for (let n = 0; n < 103; n++) {
      nowMs = Math.max(nowMs, opensAtMs(booked, rate, nowMs));
      booked = book(booked, rate, nowMs);
    }
    expect(nowMs - START_MS).toBeLessThanOrEqual(10_000 + 100);
  });

  test("is full when nothing is booked ahead, and returns its fill", () => {
    const rate = { limit: 10, periodMs: 1_000, burst: 3 };
    expect(availableOf(0, rate, START_MS)).toBe(3);
    const once = book(0, rate, START_MS);
    expect(availableOf(once, rate, START_MS)).toBe(2);
    expect(isFull(once, START_MS)).toBe(false);
    expect(isFull(once, START_MS + 100)).toBe(true);
    expect(availableOf(once, rate, START_MS + 100)).toBe(3);
    expect(opensAtMs(book(book(once, rate, START_MS), rate, START_MS), rate, START_MS)).toBe(START_MS + 100);
  });

  test("stays an exact number for the slowest rule with the largest burst, which is then a smaller one", () => {
    const rate = { limit: 1, periodMs: 31 * 86_400_000, burst: 1_000_000 };
    let booked = 0;
    let starts = 0;
    for (; opensAtMs(booked, rate, START_MS) <= START_MS; starts++) booked = book(booked, rate, START_MS);
    expect(starts).toBe(1_493);
    expect(Number.isSafeInteger(booked)).toBe(true);
    expect(availableOf(booked, rate, START_MS)).toBe(0);
  });

  test("that a faster clock booked far ahead opens after one interval", () => {
    const rate = { limit: 1, periodMs: 1_000, burst: 2 };
    const ahead = book(0, rate, START_MS + 3_600_000);
    expect(opensAtMs(ahead, rate, START_MS)).toBe(START_MS + 1_000);
    expect(availableOf(ahead, rate, START_MS)).toBe(0);
  });
});
