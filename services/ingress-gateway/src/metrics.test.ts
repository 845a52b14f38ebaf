import { expect, test } from "@jest/globals";
import { Metrics } from "@perdure/telemetry";
import { ingressMetrics } from "./metrics.js";

function samples(metrics: Metrics, name: string): string[] {
  return metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name));
}

test("requests are counted by kind, class of status and outcome", () => {
  const metrics = new Metrics();
  const ingress = ingressMetrics(metrics);
  ingress.answered("call", 200, undefined, 12);
  ingress.answered("call", 404, "ING0002", 1);
  ingress.answered("send", 429, "ING0005", 1);
  ingress.answered("attach", 503, "ING0006", 1);
  ingress.abandoned("call", 60_000);
  expect(samples(metrics, "perdure_gateway_requests_total")).toEqual([
    'perdure_gateway_requests_total{kind="call",code="2xx",outcome="ok"} 1',
    'perdure_gateway_requests_total{kind="call",code="4xx",outcome="refused"} 1',
    'perdure_gateway_requests_total{kind="call",code="other",outcome="client_gone"} 1',
    'perdure_gateway_requests_total{kind="send",code="4xx",outcome="throttled"} 1',
    'perdure_gateway_requests_total{kind="attach",code="5xx",outcome="upstream"} 1',
  ]);
  expect(samples(metrics, "perdure_gateway_request_duration_seconds_count")).toContain(
    'perdure_gateway_request_duration_seconds_count{kind="call"} 3',
  );
});
