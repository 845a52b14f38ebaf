import { expect, test } from "@jest/globals";
import { slotHoldersOf, slotWaitsOf } from "./slot-waits.js";

test("services whose invocations have waited long for a slot are listed, most first; short waits are not", () => {
  const rows = [
    { service: "Mail", n: 3, longest_ms: 10_000, id: "inv_1" },
    { service: "Orders", n: 1_074, longest_ms: 420_000, id: "inv_2" },
    { service: "Burst", n: 5_000, longest_ms: 9_999, id: "inv_3" },
  ];
  expect(slotWaitsOf(rows)).toEqual([
    { service: "Orders", count: 1_074, longestMs: 420_000, invocationId: "inv_2" },
    { service: "Mail", count: 3, longestMs: 10_000, invocationId: "inv_1" },
  ]);
  expect(slotWaitsOf([])).toEqual([]);
});

test("slots are held by what runs: three services with the most", () => {
  const row = (service: string, status: string, n: number) => ({ service, status, n });
  const rows = [
    row("A", "running", 1),
    row("B", "ready", 9),
    row("C", "running", 4),
    row("D", "running", 2),
    row("E", "running", 3),
  ];
  expect(slotHoldersOf(rows).map(({ service, running }) => `${service} ${running}`)).toEqual(["C 4", "E 3", "D 2"]);
});
