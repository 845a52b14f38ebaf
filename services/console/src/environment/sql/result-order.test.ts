import { expect, test } from "@jest/globals";
import { COLUMN_CHARS_MAX, COLUMN_CHARS_MIN } from "./limits.js";
import { columnChars, nextOrder, ordered } from "./result-order.js";

const rows = [{ n: 10, t: "b" }, { n: 9n, t: "a" }, { t: "c" }, { n: 2, t: "a", at: 1 }];
const valuesOf = (column: "n" | "t", isDescending: boolean) => ordered(rows, { column, isDescending }).map((row) => row[column]);

test("numbers of any size sort by value and texts by their characters; NULL comes last in both directions", () => {
  expect(valuesOf("n", false)).toEqual([2, 9n, 10, undefined]);
  expect(valuesOf("n", true)).toEqual([10, 9n, 2, undefined]);
  expect(valuesOf("t", false)).toEqual(["a", "a", "b", "c"]);
});

test("rows with equal values keep their order, and without an order the rows are those of the statement", () => {
  expect(ordered(rows, { column: "t", isDescending: false }).map((row) => row["n"])).toEqual([9n, 2, 10, undefined]);
  expect(ordered(rows, undefined)).toBe(rows);
});

test("presses on one header go from ascending over descending to the order of the statement", () => {
  const first = nextOrder(undefined, "n");
  const second = nextOrder(first, "n");
  expect([first, second, nextOrder(second, "n")]).toEqual([
    { column: "n", isDescending: false },
    { column: "n", isDescending: true },
    undefined,
  ]);
  expect(nextOrder(second, "t")).toEqual({ column: "t", isDescending: false });
});

test("a column is as wide as its content and its name need, within bounds", () => {
  const width = (name: string, value: unknown) => columnChars({ rows: [{ [name]: value }] }, { name, type: undefined });
  expect(width("id", "inv_".padEnd(38, "x"))).toBe(38);
  expect(width("n", 1)).toBe(COLUMN_CHARS_MIN);
  expect(width("completed_at", 1)).toBe(12);
  expect(width("t", "x".repeat(500))).toBe(COLUMN_CHARS_MAX);
});
