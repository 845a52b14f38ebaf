import { expect, test } from "@jest/globals";
import { serviceTraffic, trafficOfService } from "./service-traffic.js";

const NOON = Date.UTC(2026, 10, 27, 12);
const MINUTE_MS = 60_000;
const minute = (count: number) => NOON - count * MINUTE_MS;

test("the backlog of each minute follows from the invocations of now and what was created and completed since", () => {
  const counts = [
    { since: minute(300) },
    { name: "Orders", at: NOON, created: 1, completed: 0, failed: 0 },
    { name: "Orders", at: minute(2), created: 10, completed: 4, failed: 1 },
    { name: "Orders", at: minute(1), created: 0, completed: 5, failed: 0 },
  ];
  const traffic = serviceTraffic({ counts, unfinished: [{ n: 2 }], nowMs: NOON + 30_000 });
  expect(traffic.times).toHaveLength(60);
  expect(traffic.times.at(-1)).toBe(minute(1));
  expect(traffic.created.slice(-3)).toEqual([0, 10, 0]);
  expect(traffic.failed.slice(-3)).toEqual([0, 1, 0]);
  expect(traffic.backlog.slice(-3)).toEqual([0, 6, 1]);
});

test("minutes before a worker began to count have no values", () => {
  const counts = [{ since: minute(90) }, { since: minute(3) + 10_000 }];
  const { times, backlog, created } = serviceTraffic({ counts, unfinished: [{ n: 3 }], nowMs: NOON });
  expect(times.slice(-3)).toEqual([minute(3), minute(2), minute(1)]);
  expect([created.slice(-3), backlog.slice(-3)]).toEqual([
    [null, 0, 0],
    [null, 3, 3],
  ]);
});

test("the name of the service stays inside its literal", () => {
  expect(trafficOfService("O'Stock")).toContain("service_name = 'O''Stock'");
});
