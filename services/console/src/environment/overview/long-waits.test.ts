import { expect, test } from "@jest/globals";
import { longWaitsOf } from "./long-waits.js";

const row = (service: string, status: string, longest_ms: number) => ({
  service,
  status,
  n: 3,
  longest_ms,
  id: `inv_${service}`,
});

test("ready for more than 30 s and pending for more than 5 min need attention, the longest first", () => {
  const rows = [
    row("Quick", "ready", 29_999),
    row("Stuck", "ready", 30_000),
    row("Queue", "pending", 600_000),
    row("Lock", "pending", 299_999),
    row("Long", "running", 900_000),
  ];
  expect(longWaitsOf(rows, [])).toEqual([
    { service: "Queue", status: "pending", count: 3, longestMs: 600_000, invocationId: "inv_Queue" },
    { service: "Stuck", status: "ready", count: 3, longestMs: 30_000, invocationId: "inv_Stuck" },
  ]);
});

test("services that wait for a slot are not listed twice", () => {
  const slots = [{ service: "Stuck", count: 3, longestMs: 40_000, invocationId: "inv_Stuck" }];
  expect(
    longWaitsOf([row("Stuck", "ready", 40_000), row("Stuck", "pending", 400_000)], slots).map(({ status }) => status),
  ).toEqual(["pending"]);
});
