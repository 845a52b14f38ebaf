import { expect, test } from "@jest/globals";
import { BARS_SHOWN_MAX } from "./limits.js";
import type { SqlResult } from "./result.js";
import { barChart, chartableColumns, lineChart } from "./result-chart.js";

const COLUMNS = [
  { name: "at", type: 'Timestamp(ms, "+00:00")' },
  { name: "service", type: "LargeUtf8" },
  { name: "calls", type: "UInt64" },
  { name: "failed", type: "Decimal128(38, 0)" },
];
const resultOf = (rows: SqlResult["rows"]): SqlResult => ({ columns: COLUMNS, rows, isCut: false });
const [FIRST, SECOND] = ["2026-11-27T10:00:00.000Z", "2026-11-27T10:01:00.000Z"];

test("a result with numbers beside another column can be drawn, others cannot", () => {
  const rows = [{ calls: 1 }, { calls: 2 }];
  expect(chartableColumns(resultOf(rows))).toEqual({ times: ["at"], categories: ["service"], numbers: ["calls", "failed"] });
  expect(chartableColumns(resultOf(rows.slice(1)))).toBeUndefined();
  expect(chartableColumns({ columns: COLUMNS.slice(0, 2), rows, isCut: false })).toBeUndefined();
  expect(chartableColumns({ columns: COLUMNS.slice(2), rows, isCut: false })).toBeUndefined();
});

test("lines rise in time, whatever the order of rows, and gaps stay gaps", () => {
  const rows = [{ at: SECOND, calls: 9_007_199_254_740_993n, failed: "2" }, { at: FIRST, calls: 3 }, { calls: 100 }];
  const { times, series, hidden, isSummed } = lineChart(resultOf(rows), {
    time: "at",
    values: ["calls", "failed"],
    split: undefined,
  });
  expect(times).toEqual([Date.parse(FIRST), Date.parse(SECOND)]);
  expect(series.map(({ name, values }) => [name, values])).toEqual([
    ["calls", [3, 9_007_199_254_740_992]],
    ["failed", [null, 2]],
  ]);
  expect({ hidden, isSummed }).toEqual({ hidden: 0, isSummed: false });
});

test("a column splits a number into lines; the greatest are shown", () => {
  const rows = ["a", "b", "c", "d", "e", "f"].map((service, index) => ({ at: FIRST, service, calls: index + 1 }));
  const chart = lineChart(resultOf([...rows, { at: FIRST, service: "b", calls: 100 }]), {
    time: "at",
    values: ["calls"],
    split: "service",
  });
  expect(chart.series.map(({ name }) => name)).toEqual(["b", "f", "e", "d", "c"]);
  expect(chart).toMatchObject({ hidden: 1, isSummed: true });
});

test("moments without a zone are in UTC", () => {
  const { times } = lineChart(resultOf([{ at: "2026-11-27 10:00:00", calls: 1 }]), {
    time: "at",
    values: ["calls"],
    split: undefined,
  });
  expect(times).toEqual([Date.parse(FIRST)]);
});

test("bars have the order of the rows, NULL is a value, and their number is bounded", () => {
  const rows = [{ service: "b", calls: 1 }, { calls: 2 }, { service: "b", calls: 3 }];
  expect(barChart(resultOf(rows), "service", "calls")).toEqual({
    bars: [
      { label: "b", value: 4 },
      { label: "NULL", value: 2 },
    ],
    hidden: 0,
    isSummed: true,
  });
  const many = Array.from({ length: BARS_SHOWN_MAX + 2 }, (_, index) => ({ service: `s${index}`, calls: 1 }));
  expect(barChart(resultOf(many), "service", "calls")).toMatchObject({ hidden: 2, isSummed: false });
});
