import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "@jest/globals";
import { PROXY_PREFIX } from "@perdure/cloud-api";
import { Metrics } from "@perdure/telemetry";
import { VirtualClock } from "@perdure/testkit";
import { measuredApi } from "./metrics.js";

/** Answers end at once; without a status, the caller left before. */
function answering(requests: readonly { readonly url: string; readonly status?: number }[]): Metrics {
  const metrics = new Metrics();
  const listener = measuredApi(() => undefined, metrics, new VirtualClock());
  for (const { url, status } of requests) {
    const res = Object.assign(new EventEmitter(), { statusCode: status ?? 200, writableFinished: status !== undefined });
    listener({ url } as IncomingMessage, res as unknown as ServerResponse);
    res.emit("close");
  }
  return metrics;
}

const linesOf = (metrics: Metrics, name: string) =>
  metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`))
    .toSorted();

test("answers are counted by class of status: no content of a request or answer becomes a series", () => {
  const statuses = [200, 204, 302, 400, 404, 429, 429, 500, 503, 700, 999];
  const metrics = answering([...statuses.map((status) => ({ url: `/cloud/${status}?user=ada`, status })), { url: "/gone" }]);
  expect(linesOf(metrics, "perdure_tenancy_api_requests_total")).toEqual([
    'perdure_tenancy_api_requests_total{code="2xx"} 2',
    'perdure_tenancy_api_requests_total{code="3xx"} 1',
    'perdure_tenancy_api_requests_total{code="4xx"} 4',
    'perdure_tenancy_api_requests_total{code="5xx"} 2',
    'perdure_tenancy_api_requests_total{code="other"} 3',
  ]);
  expect(metrics.text()).toContain("perdure_tenancy_api_request_duration_seconds_count 12\n");
});

test("proxied requests of the console have their own counter, and no part in the duration of requests", () => {
  const metrics = answering([{ url: `${PROXY_PREFIX}env_1/query`, status: 429 }, { url: `${PROXY_PREFIX}env_1/query` }]);
  expect(linesOf(metrics, "perdure_tenancy_console_proxied_total")).toEqual([
    'perdure_tenancy_console_proxied_total{code="4xx"} 1',
    'perdure_tenancy_console_proxied_total{code="other"} 1',
  ]);
  expect(linesOf(metrics, "perdure_tenancy_api_requests_total")).toEqual([]);
  expect(metrics.text()).toContain("perdure_tenancy_api_request_duration_seconds_count 0\n");
  expect(metrics.text()).toContain("perdure_tenancy_console_proxied_open 0\n");
});
