/** Requests have spans by their routes; probes and scrapes have none. */
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import type { SpanShape } from "@perdure/telemetry";
import { json } from "./answer.js";
import { routerOf } from "./route.js";
import { serve } from "./server.js";

test("probes and scrapes leave no spans, other requests have OpenTelemetry's attributes and no values of their paths", async () => {
  const shapes: SpanShape[] = [];
  const edge = {
    begin: () => ({
      traceparent: undefined,
      run: <T>(work: () => T): T => work(),
      note: (shape: SpanShape) => void shapes.push(shape),
      end: () => undefined,
    }),
  };
  const operation = { summary: "Any", answers: { 200: "Any" }, handle: () => json(200, {}) };
  const paths = ["/metrics", "/readyz", "/livez", "/health", "/services/{service}"];
  const routes = paths.map((path) => ({ path, operations: { GET: operation } }));
  const request = serve(routerOf(routes, { measure: undefined, clock: systemClock, edge }), silentLogger);
  const port = createHttpPort({ request }, { clock: systemClock, logger: silentLogger }, {});
  const { port: number } = await port.listen({ host: "127.0.0.1", port: 0 });
  for (const path of ["/metrics", "/readyz", "/livez", "/health", "/services/Secret"]) {
    const response = await fetch(`http://127.0.0.1:${number}${path}`, { headers: { "user-agent": "curl/8" } });
    expect([path, response.status]).toEqual([path, 200]);
    await response.arrayBuffer();
  }
  await port.close(1_000);
  expect(shapes).toEqual([
    {
      name: "GET /services/{service}",
      attributes: {
        "http.request.method": "GET",
        "http.route": "/services/{service}",
        "url.path": "/services/{service}",
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "server.port": number,
        "network.protocol.version": "1.1",
        "user_agent.original": "curl/8",
        "http.response.status_code": 200,
      },
    },
  ]);
});
