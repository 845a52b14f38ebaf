import { expect, test } from "@jest/globals";
import { ROWS_MAX } from "./limits.js";
import { cellText, csvOf, isNumeric, jsonOf, resultOf, typeText } from "./result.js";

const described = [
  { column_name: "a", data_type: "UInt64" },
  { column_name: "b", data_type: "LargeUtf8" },
];

test("columns are those of the statement, also where every row has null", () => {
  expect(resultOf(described, [{ b: "x" }]).columns).toEqual([
    { name: "a", type: "UInt64" },
    { name: "b", type: "LargeUtf8" },
  ]);
  expect(resultOf(undefined, [{ x: 1 }, { x: 2, y: 3 }]).columns.map(({ name }) => name)).toEqual(["x", "y"]);
});

test("a result that is too long is cut and marked as cut", () => {
  const rows = Array.from({ length: ROWS_MAX + 1 }, (_, a) => ({ a }));
  expect(resultOf(described, rows)).toMatchObject({ isCut: true, rows: { length: ROWS_MAX } });
  expect(resultOf(described, rows.slice(1)).isCut).toBe(false);
});

test("CSV quotes what must be quoted, and makes no formulas", () => {
  const result = resultOf(described, [{ a: -1, b: 'say "hi", now' }, { b: "=HYPERLINK(1)" }]);
  expect(csvOf(result)).toBe('a,b\r\n-1,"say ""hi"", now"\r\n,\'=HYPERLINK(1)\r\n');
});

test("JSON leaves null out and keeps large integers", () => {
  expect(jsonOf(resultOf(described, [{ a: 4794524801028141395n }, { b: "x" }]))).toBe(
    '[\n{"a":4794524801028141395},\n{"b":"x"}\n]\n',
  );
});

test("types have short names", () => {
  expect(['Timestamp(ms, "+00:00")', "List(UInt32)", "LargeUtf8", "Boolean", "Float64"].map(typeText)).toEqual([
    "moment",
    "list of integer",
    "text",
    "yes/no",
    "number",
  ]);
  expect(resultOf(described, []).columns.map(isNumeric)).toEqual([true, false]);
  expect([cellText(null), cellText([1]), cellText(0)]).toEqual([undefined, "[1]", "0"]);
});
