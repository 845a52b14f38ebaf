import { expect, test } from "@jest/globals";
import type { SpanShape } from "@perdure/telemetry";
import type { ExchangeKind, IngressExchange } from "./exchange.js";
import { endSpan } from "./request-span.js";

/** What is recorded of a request that was answered with 200. */
function recorded(
  kind: ExchangeKind,
  rawHeaders: readonly string[],
): { readonly shape: SpanShape | undefined; readonly ended: number } {
  let shape: SpanShape | undefined;
  let ended = 0;
  const span = {
    traceparent: undefined,
    run: <T>(work: () => T): T => work(),
    note(noted: SpanShape) {
      shape = noted;
    },
    end: () => void ended++,
  };
  endSpan({ kind, method: "POST", refusedWith: undefined, rawHeaders } as unknown as IngressExchange, span, 200);
  return { shape, ended };
}

test("the span of a request has OpenTelemetry's attributes, its route for its path, and the beginning of what its client calls itself", () => {
  const agent = "x".repeat(1_000);
  const { shape, ended } = recorded("call", ["Host", "api.example.org:8080", "User-Agent", agent, "X-Other", "secret"]);
  expect([shape?.name, ended]).toEqual(["POST /{service}/{handler}", 1]);
  expect(shape?.attributes).toEqual({
    "http.request.method": "POST",
    "http.route": "/{service}/{handler}",
    "url.path": "/{service}/{handler}",
    "url.scheme": "http",
    "network.protocol.version": "1.1",
    "server.address": "api.example.org",
    "server.port": 8080,
    "user_agent.original": agent.slice(0, 256),
    "http.response.status_code": 200,
  });
});

test("HTTP/2 names its host otherwise", () => {
  const { shape } = recorded("send", [":method", "POST", ":authority", "[::1]:8080"]);
  expect(shape?.attributes).toMatchObject({ "network.protocol.version": "2", "server.address": "[::1]", "server.port": 8080 });
});

test("probes leave no span", () => {
  expect(recorded("health", ["host", "localhost"])).toEqual({ shape: undefined, ended: 0 });
});
