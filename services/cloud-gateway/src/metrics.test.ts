import { expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { Metrics } from "@perdure/telemetry";
import { ENVIRONMENTS_COUNTED_MAX } from "./limits.js";
import { gatewayMetrics } from "./metrics.js";

const NAME = "perdure_cloud_gateway_environment_requests_total";
const id = (name: string): EnvironmentId => `env_${name}` as EnvironmentId;

function anObservedGateway() {
  const metrics = new Metrics();
  const lines = () =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith(`${NAME}{`));
  return { gateway: gatewayMetrics(metrics), lines };
}

test("requests are counted for each environment, and failures are exported as 0 before the first", () => {
  const { gateway, lines } = anObservedGateway();
  gateway.ofEnvironment(id("a"), "answered");
  gateway.ofEnvironment(id("a"), "answered");
  gateway.ofEnvironment(id("b"), "failed");
  expect(lines()).toEqual([
    `${NAME}{env="env_a",outcome="answered"} 2`,
    `${NAME}{env="env_a",outcome="failed"} 0`,
    `${NAME}{env="env_a",outcome="abandoned"} 0`,
    `${NAME}{env="env_b",outcome="answered"} 0`,
    `${NAME}{env="env_b",outcome="failed"} 1`,
    `${NAME}{env="env_b",outcome="abandoned"} 0`,
  ]);
});

test("beyond the bound, the environment that was called longest ago is not counted any more", () => {
  const { gateway, lines } = anObservedGateway();
  for (let n = 0; n < ENVIRONMENTS_COUNTED_MAX; n++) gateway.ofEnvironment(id(String(n)), "answered");
  gateway.ofEnvironment(id("0"), "answered");
  gateway.ofEnvironment(id("new"), "failed");
  expect(lines()).toHaveLength(3 * ENVIRONMENTS_COUNTED_MAX);
  expect(lines()).toContain(`${NAME}{env="env_0",outcome="answered"} 2`);
  expect(lines().some((line) => line.includes('env="env_1"'))).toBe(false);
});
