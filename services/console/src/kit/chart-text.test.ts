import { expect, test } from "@jest/globals";
import { chartSummary, valueAt } from "./chart-text.js";

const plain = (value: number) => `${value}`;

test("has for each series its last value and its range", () => {
  const series = [
    { name: "Requests", values: [3, 40, null, 12, null] },
    { name: "Failures", values: [null, null] },
    { name: "Waiting", values: [0, 0] },
  ];
  expect(chartSummary(series, plain)).toBe("Requests: last 12, most 40. Failures: nothing. Waiting: last 0, most 0.");
});

test("the value at the pointer, or the last one that exists", () => {
  const series = { name: "Requests", values: [3, null, 12, null] };
  expect([0, 1, 2, 7, undefined].map((index) => valueAt(series, index))).toEqual([3, null, 12, null, 12]);
});
