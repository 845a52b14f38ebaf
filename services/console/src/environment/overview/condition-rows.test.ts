import { expect, test } from "@jest/globals";
import { conditionHref, conditionsOf, conditionText } from "./condition-rows.js";

test("stuck subscriptions and saturated limits are shown with the page that explains them, other conditions not", () => {
  const conditions = conditionsOf([
    { type: "subscription.stuck", subject: "sub_1", services: "Checkout", handler: "pay", since: "2026-11-27T10:00:00Z" },
    { type: "limit.saturated", subject: "acme/reports", services: "", since: "2026-11-27T10:00:00Z" },
    { type: "deployment.drained", subject: "dp_1", services: "Checkout" },
    { type: "something.new", subject: "x" },
  ]);
  expect(conditions.map((each) => [conditionText(each), each.target, conditionHref(each)])).toEqual([
    ["subscription stuck", "Checkout/pay", "/subscriptions?show=sub_1"],
    ["limit saturated", undefined, "/flow"],
  ]);
});
