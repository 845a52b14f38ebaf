import { expect, test } from "@jest/globals";
import { type AccountUsage, byDay, monthsUntil, shareOf, storedNow, trafficOf } from "./usage-days.js";

const used = (environmentId: string, day: string, actions: number, storedBytes = 0): AccountUsage["days"][number] => ({
  environmentId: environmentId as AccountUsage["days"][number]["environmentId"],
  day,
  actions,
  ingressRequests: 0,
  adminRequests: 0,
  bytesIn: 0,
  bytesOut: 10,
  tunnelBytes: 5,
  storedBytes,
  storedBytesPeak: storedBytes,
});

test("every day has its place, and environments are summed up", () => {
  const days = [used("env_a", "2026-11-02", 3), used("env_b", "2026-11-02", 4), used("env_a", "2026-10-31", 9)];
  const all = byDay({ from: "2026-11-01", to: "2026-11-03", days });
  expect(all.map(({ day, actions }) => [day, actions])).toEqual([
    ["2026-11-01", 0],
    ["2026-11-02", 7],
    ["2026-11-03", 0],
  ]);
  expect(all.map(trafficOf)).toEqual([0, 30, 0]);
});

test("current storage is the storage of the last day with data", () => {
  const stored = storedNow([
    used("env_a", "2026-11-02", 0, 20),
    used("env_a", "2026-11-01", 0, 90),
    used("env_b", "2026-11-01", 0, 7),
  ]);
  expect([...stored]).toEqual([
    ["env_a", 20],
    ["env_b", 7],
  ]);
});

test.each([
  [0, 0, 0, "good"],
  [10, 100, 10, "good"],
  [80, 100, 80, "warn"],
  [120, 100, 120, "bad"],
])("%d of %d is %d %%: %s", (of, max, percent, tone) => expect(shareOf(of, max)).toEqual({ percent, tone }));

test("months go back to the account's first, and at most a year", () => {
  const now = Date.UTC(2026, 1, 10);
  expect(monthsUntil(now, Date.UTC(2025, 11, 31))).toEqual([
    { id: "2026-02", from: "2026-02-01", to: "2026-02-10" },
    { id: "2026-01", from: "2026-01-01", to: "2026-01-31" },
    { id: "2025-12", from: "2025-12-01", to: "2025-12-31" },
  ]);
  expect(monthsUntil(now, 0)).toHaveLength(12);
});
