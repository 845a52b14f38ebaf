import { expect, test } from "@jest/globals";
import { RequestRate } from "./request-rate.js";

test("a second's worth passes at once, then as many as time brings, and a long silence saves up no more", () => {
  const rate = new RequestRate(2, 0);
  expect([rate.take(0), rate.take(0), rate.take(0)]).toEqual([true, true, false]);
  expect([rate.take(499), rate.take(500), rate.take(501)]).toEqual([false, true, false]);
  expect([rate.take(60_000), rate.take(60_000), rate.take(60_000)]).toEqual([true, true, false]);
});
