import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { balancedAssignment, type WorkerId } from "./lease.js";

const workers = (...ids: string[]) => ids.map((id) => ({ id, draining: false }));
const unassigned = (count: number): undefined[] => Array.from({ length: count }, () => undefined);
const moves = (before: readonly (WorkerId | undefined)[], after: readonly (WorkerId | undefined)[]): number =>
  after.filter((id, partition) => id !== before[partition]).length;

describe("the balanced assignment of partitions", () => {
  test("shares them evenly among workers that have none", () => {
    expect(balancedAssignment(workers("b", "a"), unassigned(4))).toEqual(["a", "a", "b", "b"]);
    expect(balancedAssignment(workers("a", "b", "c"), unassigned(7))).toEqual(["a", "a", "a", "b", "b", "c", "c"]);
  });

  test("moves only its share to a worker that joins", () => {
    const before = balancedAssignment(workers("a", "b"), unassigned(8));
    const after = balancedAssignment(workers("a", "b", "c"), before);
    expect(moves(before, after)).toBe(2);
    expect(after.filter((id) => id === "c")).toHaveLength(2);
  });

  test("moves only the partitions of a worker that left", () => {
    const before = ["a", "a", "b", "b", "c", "c"];
    const after = balancedAssignment(workers("a", "c"), before);
    expect(after).toEqual(["a", "a", "a", "c", "c", "c"]);
  });

  test("gives nothing to a worker that drains, and its partitions to the others", () => {
    const members = [{ id: "a", draining: true }, ...workers("b", "c")];
    expect(balancedAssignment(members, ["a", "a", "b", "c"])).toEqual(["b", "c", "b", "c"]);
  });

  test("assigns nothing when there is no worker, or only draining ones", () => {
    expect(balancedAssignment([], ["a", undefined])).toEqual([undefined, undefined]);
    expect(balancedAssignment([{ id: "a", draining: true }], ["a"])).toEqual([undefined]);
  });

  test("is balanced, moves no more than necessary, and is stable", () => {
    const id = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
    fc.assert(
      fc.property(
        fc.uniqueArray(id, { minLength: 1 }),
        fc.array(fc.option(id, { nil: undefined }), { maxLength: 40 }),
        (ids, before) => {
          const after = balancedAssignment(workers(...ids), before);
          const counts = ids.map((each) => after.filter((one) => one === each).length);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(before.length);
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
          expect(balancedAssignment(workers(...ids), after)).toEqual(after);
          expect(balancedAssignment(workers(...[...ids].reverse()), before)).toEqual(after);
          // At best every worker keeps what it has up to its share, and as many as possible have the larger share.
          const least = Math.floor(before.length / ids.length);
          let larger = before.length % ids.length;
          let kept = 0;
          for (const each of ids) {
            const has = before.filter((one) => one === each).length;
            if (has > least && larger > 0) {
              larger--;
              kept += least + 1;
            } else kept += Math.min(has, least);
          }
          expect(moves(before, after)).toBe(before.length - kept);
        },
      ),
    );
  });
});
