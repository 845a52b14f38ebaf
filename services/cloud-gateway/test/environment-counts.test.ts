/** A runtime that is down exports no counters, so the gateway counts the outcomes of its requests by environment. */
import { expect, test } from "@jest/globals";
import { Metrics } from "@perdure/telemetry";
import { gatewayMetrics } from "../src/metrics.js";
import { bearer, startGateway, startRuntime } from "./fixture.js";

test("requests to a runtime that is down are failures of its environment, and refusals that callers cause are not", async () => {
  const metrics = new Metrics();
  await using fixture = await startGateway({ metrics: gatewayMetrics(metrics) });
  const runtime = await startRuntime();
  const facts = fixture.environment(runtime);
  const headers = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = async (sent: readonly string[]) => {
    const request = { method: "POST", path: "/Greeter/greet", headers: [...sent], body: "" };
    return (await fixture.call("http/1.1", "ingress", facts, request)).status;
  };
  expect(await call(headers)).toBe(200);
  expect(await call([])).toBe(401);
  await runtime[Symbol.asyncDispose]();
  expect(await call(headers)).toBe(503);
  const counted = metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("perdure_cloud_gateway_environment_requests_total{"));
  expect(counted.map((line) => line.replace(/^.*outcome="(\w+)"\}/, "$1"))).toEqual(["answered 2", "failed 1", "abandoned 0"]);
  expect(counted[0]).toContain(`env="${facts.id}"`);
});
