import { describe, expect, test } from "@jest/globals";
import { countedSince, rowsOfCounts } from "./counted-rows.js";
import { servicesOf, trafficOf } from "./figures.js";
import { HOUR_WINDOW } from "./windows.js";

const NOON = Date.parse("2026-11-27T12:00:00Z");
const SINCE = { reported: 2, complete: 2, since: 5, nodes: 2 };

describe("counters are complete", () => {
  test("since the youngest of all workers", () => expect(countedSince([SINCE])).toBe(5));

  test.each([
    ["no rows", []],
    ["no worker that reports", [{ reported: 0, complete: 0, nodes: 0 }]],
    ["a worker that does not report", [{ ...SINCE, nodes: 3 }]],
    ["a worker that does not count all services", [{ ...SINCE, complete: 1 }]],
  ])("never with %s", (_what, rows) => expect(countedSince(rows)).toBeUndefined());
});

test("counts become the figures of the charts and of the services", () => {
  const at = NOON - 60_000;
  const rows = rowsOfCounts([
    { service: "Greeter", created: 4, completed: 0, failed: 0 },
    { service: "Greeter", ms: 1_448, created: 0, completed: 3, failed: 1 },
    { service: "Shop", ms: 8, created: 0, completed: 1, failed: 0 },
    { at, created: 4, completed: 0, failed: 0 },
    { at, ms: 8, created: 0, completed: 1, failed: 0 },
    { at, ms: 1_448, created: 0, completed: 3, failed: 1 },
  ]);
  const traffic = trafficOf(rows, NOON, HOUR_WINDOW);
  expect(traffic.times.at(-1)).toBe(at);
  expect([traffic.made.at(-1), traffic.failed.at(-1), traffic.made.at(0)]).toEqual([4, 1, 0]);
  expect(traffic.total).toMatchObject({ ended: 4, failed: 1 });
  expect(traffic.p99Ms.at(-1)).toBeGreaterThan(1_400);
  const [greeter, shop] = servicesOf(["Greeter", "Shop"], [], rows);
  expect([greeter?.calls, greeter?.failed, shop?.calls]).toEqual([4, 1, 0]);
  expect(shop?.p50Ms).toBe(7);
});

test.each([
  ["nothing", [], "p50", undefined],
  ["one class", [{ ms: 1_448, completed: 10 }], "p50", 1_236],
  [
    "the class in which the share is reached",
    [
      { ms: 8, completed: 98 },
      { ms: 1_448, completed: 2 },
    ],
    "p99",
    1_236,
  ],
])("a quantile of %s is estimated", (_what, classes, quantile, expected) => {
  const [ofService] = rowsOfCounts(classes.map((one) => ({ service: "Greeter", ...one })));
  expect(ofService?.[quantile]).toBe(expected);
});
