import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { READ_HOLDS_INTEGERS, ReadHolds } from "./read-holds.js";

const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant("hold" as const) },
  { weight: 4, arbitrary: fc.constant("release" as const) },
  { weight: 4, arbitrary: fc.constant("advance" as const) },
  { weight: 2, arbitrary: fc.constant("free" as const) },
);

/** Reads and files in the order of events, with periods that begin at a number, such as the last one before they wrap around. */
function check(steps: readonly (readonly [step: "hold" | "release" | "advance" | "free", n: number])[], first: number): number {
  const shared = new Int32Array(READ_HOLDS_INTEGERS);
  shared[0] = first;
  const threads = [new ReadHolds(shared), new ReadHolds(shared), new ReadHolds(shared)];
  let reads: { readonly beganAt: number; readonly release: () => void }[] = [];
  let free: { readonly freedAt: number; readonly period: number }[] = [];
  let removed = 0;
  for (const [time, [kind, n]] of steps.entries()) {
    const holds = threads[n % threads.length] as ReadHolds;
    if (kind === "hold") reads.push({ beganAt: time, release: holds.hold() });
    else if (kind === "release" && reads.length > 0) reads.splice(n % reads.length, 1)[0]?.release();
    else if (kind === "advance") holds.advance();
    else if (kind === "free") free.push({ freedAt: time, period: holds.period });
    for (const { freedAt, period } of free.filter((file) => holds.haveEnded(file.period))) {
      removed++;
      expect([period, reads.filter(({ beganAt }) => beganAt < freedAt)]).toEqual([period, []]);
    }
    free = free.filter((file) => !holds.haveEnded(file.period));
  }
  for (const { release } of reads) release();
  reads = [];
  const [holds] = threads as [ReadHolds];
  expect([holds.advance(), holds.advance(), free.every(({ period }) => holds.haveEnded(period))]).toEqual([true, true, true]);
  return removed;
}

test("a file is removed when every read has ended that began before it was freed, in any thread, and then for certain", () => {
  let removed = 0;
  const property = fc.property(
    fc.array(fc.tuple(step, fc.nat(20)), { minLength: 20, maxLength: 120 }),
    fc.constantFrom(0, 1, 2 ** 31 - 3, -4),
    (steps, first) => {
      removed += check(steps, first);
    },
  );
  fc.assert(property, { numRuns: 500, seed: 17 });
  expect(removed).toBeGreaterThan(500);
});

test("a period does not end before the reads of the one before it, and ending a read twice ends it once", () => {
  const holds = new ReadHolds(new Int32Array(READ_HOLDS_INTEGERS));
  const release = holds.hold();
  expect([holds.advance(), holds.advance(), holds.haveEnded(0)]).toEqual([true, false, false]);
  release();
  release();
  expect([holds.advance(), holds.haveEnded(0), holds.haveEnded(1)]).toEqual([true, true, false]);
});
