import { expect, test } from "@jest/globals";
import { type AccountUsage, byDay, forecastOf, monthsUntil, shareOf, storedNow, trafficOf, usageCsv } from "./usage-days.js";

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

test("a forecast continues the month at the rate of its days, from the third day to the last but one", () => {
  const november = (to: string) => forecastOf(100, { from: "2026-11-01", to });
  expect(november("2026-11-10")).toBe(300);
  expect(november("2026-11-03")).toBe(1_000);
  expect(november("2026-11-02")).toBeUndefined();
  expect(november("2026-11-30")).toBeUndefined();
  expect(forecastOf(100, { from: "2024-02-01", to: "2024-02-10" })).toBe(290);
});

test("a month is exported with a line for each day", () => {
  const days = byDay({ from: "2026-11-01", to: "2026-11-02", days: [used("env_a", "2026-11-02", 7, 20)] });
  expect(usageCsv(days).split("\r\n")).toEqual([
    "day,actions,ingressRequests,adminRequests,bytesIn,bytesOut,tunnelBytes,storedBytes,storedBytesPeak",
    "2026-11-01,0,0,0,0,0,0,0,0",
    "2026-11-02,7,0,0,0,10,5,20,20",
    "",
  ]);
});
