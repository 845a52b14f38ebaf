import { expect, test } from "@jest/globals";
import { aheadOf } from "./ahead.js";
import { ROWS_AHEAD, ROWS_AHEAD_MOVING, ROWS_BEHIND } from "./limits.js";

test("at rest as many rows are loaded above as below", () => {
  expect(aheadOf(1_000, 1_039, 0)).toEqual({ from: 1_000 - ROWS_AHEAD, to: 1_040 + ROWS_AHEAD });
});

test("rows in the direction of travel are read further ahead, those behind less far", () => {
  expect(aheadOf(1_000, 1_039, 25)).toEqual({ from: 1_000 - ROWS_BEHIND, to: 1_040 + ROWS_AHEAD_MOVING });
  expect(aheadOf(1_000, 1_039, -25)).toEqual({ from: 1_000 - ROWS_AHEAD_MOVING, to: 1_040 + ROWS_BEHIND });
});

test("nothing is requested above the first row", () => {
  expect(aheadOf(5, 44, -1).from).toBe(0);
});
