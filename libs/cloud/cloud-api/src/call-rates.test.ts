import { expect, test } from "@jest/globals";
import type { UserId } from "@perdure/cloud";
import { VirtualClock } from "@perdure/testkit";
import { CallRates } from "./call-rates.js";

const [ADA, BOB] = ["user_ada" as UserId, "user_bob" as UserId];

test("T20: a user has a burst and a rate of calls; other users are not delayed, and expensive calls count for several", () => {
  const clock = new VirtualClock();
  const rates = new CallRates(clock, { perSecond: 2, burst: 4 });
  for (let n = 0; n < 4; n++) rates.take(ADA);
  expect(() => rates.take(ADA)).toThrow("Too many calls: try again in 1 s");
  rates.take(BOB, 3);
  expect(() => rates.take(BOB, 3)).toThrow(expect.objectContaining({ code: "PERD0429", headers: { "retry-after": "1" } }));
  clock.advanceBy(500);
  rates.take(ADA);
  expect(() => rates.take(ADA)).toThrow("Too many calls");
  clock.advanceBy(60_000);
  rates.take(ADA, 100); // A cost above the burst takes all of it.
  expect(() => rates.take(ADA)).toThrow("Too many calls");
});
