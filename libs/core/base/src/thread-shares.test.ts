import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { partitionsOfThread, shareOf } from "./index.js";

const threadsAndLimit = fc
  .integer({ min: 1, max: 64 })
  .chain((threads) => fc.tuple(fc.constant(threads), fc.integer({ min: threads, max: 100_000 })));

test("the shares of all threads together are the limit, and no thread is left without", () => {
  fc.assert(
    fc.property(threadsAndLimit, ([threads, limit]) => {
      const shares = Array.from({ length: threads }, (_, thread) => shareOf(limit, thread, threads));
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      expect(Math.min(...shares)).toBeGreaterThan(0);
    }),
  );
});

test("each partition belongs to exactly one thread", () => {
  fc.assert(
    fc.property(threadsAndLimit, ([threads, partitionCount]) => {
      const subsets = Array.from({ length: threads }, (_, thread) =>
        partitionsOfThread(thread, threads, Math.min(partitionCount, 1_024)),
      );
      const all = subsets.flatMap(({ partitions }) => partitions).sort((a, b) => a - b);
      expect(all).toEqual([...Array(Math.min(partitionCount, 1_024)).keys()]);
    }),
  );
});
