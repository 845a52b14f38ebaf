import { describe, expect, test } from "@jest/globals";
import {
  countsOf,
  deploymentIssues,
  issuesOf,
  reasonsOf,
  servicesOf,
  trafficOf,
  unfinishedOf,
  withoutReason,
} from "./figures.js";
import { againAfterMs, trafficStatement } from "./questions.js";
import { HOUR_WINDOW, WINDOWS, windowOf } from "./windows.js";

const NOW = [
  { service: "Orders", status: "running", n: 2 },
  { service: "Orders", status: "suspended", n: 5 },
  { service: "Stock", status: "running", n: 1 },
  { service: "Stock", status: "something new", n: 9 },
];
const HOUR = [
  { service: "Orders", n: 30, n_ended: 20, failed: 4, p50: 12.5, p99: 80, part: 3 },
  { service: "Gone", n: 1, n_ended: 1, failed: 0, p50: 1, p99: 1, part: 3 },
  { made: Date.UTC(2026, 10, 22, 1, 0), n: 7, n_ended: 6, failed: 1, part: 5 },
  { ended: Date.UTC(2026, 10, 22, 1, 1), n: 6, n_ended: 6, failed: 2, p50: 10, p99: 90, part: 6 },
  { n: 31, n_ended: 21, failed: 4, p50: 12, p99: 85, part: 7 },
];

test("statuses are counted over all services, unknown ones left out", () => {
  expect(countsOf(NOW)).toEqual({
    running: 3,
    ready: 0,
    pending: 0,
    scheduled: 0,
    "backing-off": 0,
    suspended: 5,
    paused: 0,
  });
});

test("a service is there when it is registered, runs something, or did within the hour", () => {
  const services = servicesOf(["Orders", "Idle"], NOW, HOUR);
  expect(services.map(({ service, calls, failed, p99Ms, counts }) => [service, calls, failed, p99Ms, counts.running])).toEqual([
    ["Gone", 1, 0, 1, 0],
    ["Idle", 0, 0, undefined, 0],
    ["Orders", 30, 4, 80, 2],
    ["Stock", 0, 0, undefined, 1],
  ]);
});

test("the hour has its sixty whole minutes, with nothing where nothing happened", () => {
  const traffic = trafficOf(HOUR, Date.UTC(2026, 10, 22, 1, 2, 30), HOUR_WINDOW);
  expect(traffic.times).toHaveLength(60);
  expect(traffic.times.at(-1)).toBe(Date.UTC(2026, 10, 22, 1, 1));
  expect(traffic.made.slice(-2)).toEqual([7, 0]);
  expect(traffic.failed.slice(-2)).toEqual([0, 2]);
  expect(traffic.p99Ms.slice(-2)).toEqual([null, 90]);
  expect(traffic.total).toEqual({ ended: 21, failed: 4, p50Ms: 12, p99Ms: 85 });
});

test("unfinished invocations of the past follow from those of now", () => {
  const nowMs = Date.UTC(2026, 10, 22, 1, 2, 30);
  const { times } = trafficOf(HOUR, nowMs, HOUR_WINDOW);
  expect(unfinishedOf(HOUR, times, HOUR_WINDOW, countsOf(NOW)).slice(-3)).toEqual([7, 14, 8]);
});

test("each window has whole points, and the statement and the charts count by the same", () => {
  for (const window of WINDOWS) {
    expect(trafficOf([], Date.UTC(2026, 10, 22, 1, 2, 30), window).times).toHaveLength(window.spanMs / window.bucketMs);
    expect(trafficStatement(window)).toContain(`floor(epoch_ms(created_at) / ${window.bucketMs})`);
    expect(trafficStatement(window)).toContain(`INTERVAL '${window.spanMs / 1_000} seconds'`);
  }
  const week = windowOf("7d");
  const times = trafficOf([{ made: Date.UTC(2026, 10, 21, 22), n: 9, part: 5 }], Date.UTC(2026, 10, 22, 1), week);
  expect(times.made.at(-1)).toBe(9);
  expect([windowOf(null), windowOf("3 years")]).toEqual([HOUR_WINDOW, HOUR_WINDOW]);
});

test("an hour of nothing is an hour of nothing", () => {
  expect(trafficOf([], 0, HOUR_WINDOW).total).toEqual({ ended: 0, failed: 0 });
});

describe("invocations that need attention", () => {
  const rows = [
    { service: "P", handler: "charge", status: "failed", code: "402", n: 90, id: "inv_1", failure: "[402] no" },
    {
      service: "P",
      handler: "broken",
      status: "backing-off",
      code: "RT0007",
      n: 3,
      id: "inv_2",
      failure: "a\nb",
      deployment: "dp_1",
    },
    { service: "P", handler: "broken", status: "paused", n: 1, id: "inv_3", deployment: "dp_1" },
    { service: "P", handler: "flaky", status: "backing-off", code: "", n: 8, id: "inv_4", deployment: "dp_2" },
  ];

  test("are sorted by urgency, each with the first line of its failure", () => {
    const issues = issuesOf(rows.slice(0, 1), rows.slice(1));
    expect(issues.map(({ invocationId, failure, code }) => [invocationId, failure, code])).toEqual([
      ["inv_3", undefined, undefined],
      ["inv_4", undefined, undefined],
      ["inv_2", "a", "RT0007"],
      ["inv_1", "[402] no", "402"],
    ]);
    expect(withoutReason(issues)).toEqual(["inv_3"]);
  });

  test("are grouped by deployment, without ended ones", () => {
    expect(deploymentIssues(issuesOf(rows))).toEqual([
      { deployment: "dp_2", count: 8, failure: undefined },
      { deployment: "dp_1", count: 4, failure: "a" },
    ]);
  });

  test("have their reason from the journal, whatever else it contains", () => {
    const events = [
      { id: "inv_3", event_json: '{"ty":"TransientError","error_code":500,"error_message":"first"}' },
      { id: "inv_3", event_json: '{"ty":"Paused","last_failure":{"error_message":"the \\"bank\\"\\nat x"}}' },
      { id: "inv_9", event_json: "{}" },
    ];
    expect([...reasonsOf(events)]).toEqual([["inv_3", 'the "bank"']]);
  });
});

test("slow answers are requested less often", () => {
  expect([20, 700, 30_000].map(againAfterMs)).toEqual([5_000, 7_000, 60_000]);
});
