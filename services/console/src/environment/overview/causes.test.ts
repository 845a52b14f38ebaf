import { expect, test } from "@jest/globals";
import { causesOf } from "./causes.js";
import type { InvocationIssue } from "./figures.js";

function anIssue(target: string, changes: Partial<InvocationIssue> = {}): InvocationIssue {
  const [service = "", handler = ""] = target.split("/");
  return {
    service,
    handler,
    status: "failed",
    code: "402",
    count: 7,
    invocationId: `inv_${handler}`,
    failure: "[402] card declined for order 17",
    at: undefined,
    deployment: undefined,
    caller: undefined,
    ...changes,
  };
}

test("a failure that went up through callers is one row, of the handler where it began", () => {
  const causes = causesOf([
    anIssue("Checkout/run", { failure: "[402] card declined for order 99" }),
    anIssue("Orders/place", { caller: "Checkout/c1/run" }),
    anIssue("Payments/charge", { caller: "Orders/place", count: 9 }),
    anIssue("Mail/send"),
  ]);
  expect(causes.map(({ service, callers }) => [service, callers])).toEqual([
    [
      "Payments",
      [
        { handler: "Orders/place", count: 7 },
        { handler: "Checkout/run", count: 7 },
      ],
    ],
    ["Mail", []],
  ]);
});

test("another failure, code or status of the caller stays a row of its own", () => {
  const child = anIssue("Payments/charge", { caller: "Orders/place" });
  for (const changes of [{ failure: "[402] no stock" }, { code: "500" }, { status: "paused" as const }]) {
    expect(causesOf([anIssue("Orders/place", changes), child])).toHaveLength(2);
  }
});

test("handlers that call each other lose no row", () => {
  const causes = causesOf([
    anIssue("A/a", { caller: "B/b" }),
    anIssue("B/b", { caller: "A/a" }),
    anIssue("C/c", { caller: "C/c" }),
  ]);
  expect(causes.length).toBeGreaterThanOrEqual(2);
  expect(causes.map(({ service }) => service)).toContain("C");
});
