import { expect, test } from "@jest/globals";
import { Metrics } from "@perdure/telemetry";
import { observeRegistry } from "./metrics.js";

test("a registry reports its entities, its watchers, and whether it fires schedules", () => {
  const metrics = new Metrics();
  const now = { deployments: 2, services: 3, subscriptions: 1, watchers: 5, lagMs: 1_500, leading: false };
  observeRegistry(metrics, {
    registry: {
      deployments: () => new Array(now.deployments),
      services: () => new Array(now.services),
      subscriptions: () => new Array(now.subscriptions),
    },
    watchers: {
      get count() {
        return now.watchers;
      },
      get lagMs() {
        return now.lagMs;
      },
    },
    connections: () => ({ idle: 2, used: 1, waiting: 0 }),
    isLeading: () => now.leading,
  });
  const lines = (): string[] =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith("perdure_registry_"));
  expect(lines()).toEqual([
    'perdure_registry_entities{kind="deployment"} 2',
    'perdure_registry_entities{kind="service"} 3',
    'perdure_registry_entities{kind="subscription"} 1',
    "perdure_registry_watchers 5",
    "perdure_registry_watch_lag_seconds 1.5",
    'perdure_registry_db_pool{state="idle"} 2',
    'perdure_registry_db_pool{state="used"} 1',
    'perdure_registry_db_pool{state="waiting"} 0',
    "perdure_registry_leading 0",
  ]);
  now.watchers = 0;
  now.leading = true;
  expect(lines()).toContain("perdure_registry_watchers 0");
  expect(lines().at(-1)).toBe("perdure_registry_leading 1");
});
