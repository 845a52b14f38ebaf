import { expect, test } from "@jest/globals";
import { trafficOfServices, versionTraffic } from "./traffic-rows.js";

const MINUTE_MS = 60_000;
const NOW = 1_000 * MINUTE_MS + 5;
const ALL = [{ id: "dp_old", uri: "http://orders:9080/v1" }];

test("this deployment is the first line, also without a call; others follow by their calls", () => {
  const rows = [
    { name: "dp_other", at: 999 * MINUTE_MS, calls: 1 },
    { name: "dp_old", at: 998 * MINUTE_MS, calls: 5 },
    { name: "dp_old", at: 1_000 * MINUTE_MS, calls: 2 },
    { name: "dp_old", at: 940 * MINUTE_MS, calls: 100 },
  ];
  const { times, series, calls, own } = versionTraffic(rows, "dp_new", ALL, NOW);
  expect([times.length, times[0], times.at(-1)]).toEqual([60, 941 * MINUTE_MS, 1_000 * MINUTE_MS]);
  expect(series.map(({ name }) => name)).toEqual(["this deployment", "http://orders:9080/v1", "dp_other"]);
  expect(series[1]?.values.slice(-3)).toEqual([5, 0, 2]);
  expect({ calls, own }).toEqual({ calls: 8, own: 0 });
});

test("at most five deployments have a line; all of them are counted", () => {
  const rows = Array.from({ length: 9 }, (_, i) => ({ name: `dp_${i}`, at: 1_000 * MINUTE_MS, calls: i }));
  const { series, calls, own } = versionTraffic(rows, "dp_0", [], NOW);
  expect(series.map(({ name }) => name)).toEqual(["this deployment", "dp_8", "dp_7", "dp_6", "dp_5"]);
  expect({ calls, own }).toEqual({ calls: 36, own: 0 });
});

test("names of services are quoted", () => {
  expect(trafficOfServices(["Orders", "it's"])).toContain("target_service_name IN ('Orders', 'it''s')");
});
