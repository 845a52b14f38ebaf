import { expect, test } from "@jest/globals";
import { RequestNumbers } from "./request-numbers.js";

test("numbers begin again after the last one and leave out what still waits", () => {
  const numbers = new RequestNumbers(4);
  const none = new Set<number>();
  expect([1, 2, 3, 4].map(() => numbers.next(none))).toEqual([1, 2, 3, 4]);
  expect(numbers.next(new Set([1, 2]))).toBe(3);
  expect(numbers.next(new Set([4]))).toBe(1);
});
