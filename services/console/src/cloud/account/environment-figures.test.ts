import { expect, test } from "@jest/globals";
import { NO_TREND } from "../../environment/trend-rows.js";
import { figuresOf } from "./environment-figures.js";

const MINUTE_MS = 60_000;
const NOW = 1_000 * MINUTE_MS;

test("an environment without traffic and deployments has a flat trend", () => {
  expect(figuresOf([{ name: "deployed", calls: 0, failed: 0 }], NOW)).toEqual({ trend: NO_TREND, deployedAtMs: undefined });
});

test("counts of all services add up, and the newest deployment is not traffic", () => {
  const { trend, deployedAtMs } = figuresOf(
    [
      { name: "calls", at: NOW, calls: 4, failed: 1 },
      { name: "calls", at: NOW - MINUTE_MS, calls: 3, failed: 0 },
      { name: "deployed", at: 17, calls: 0, failed: 0 },
    ],
    NOW,
  );
  expect({ calls: trend.calls, failed: trend.failed, deployedAtMs }).toEqual({ calls: 7, failed: 1, deployedAtMs: 17 });
});
