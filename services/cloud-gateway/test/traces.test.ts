/** The gateway is the first hop of a tenant's request: its span is in the caller's trace, and the runtime's spans are its children. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { EnvironmentFacts } from "@perdure/cloud";
import { Sampler, type SpanRecord, tracedEdge } from "@perdure/telemetry";
import { bearer, type GatewayFixture, startGateway, startRuntime, type TestRuntime, valuesOf } from "./fixture.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

let spans: SpanRecord[];
let fixture: GatewayFixture;
let runtime: TestRuntime;
let facts: EnvironmentFacts;
let headers: string[];
beforeEach(async () => {
  spans = [];
  const tracer = { enabled: true, record: (span: SpanRecord) => void spans.push(span) };
  const sampler = new Sampler({ ratio: 0 }, systemRandom);
  const ports = { tracer, sampler, clock: systemClock, random: systemRandom, logger: silentLogger };
  fixture = await startGateway({ edge: tracedEdge(ports, "server") });
  runtime = await startRuntime();
  facts = fixture.environment(runtime);
  headers = [...bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess")), "user-agent", "curl/8"];
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const call = (more: readonly string[], credentials: readonly string[] = headers) =>
  fixture.call("http/1.1", "ingress", facts, {
    method: "POST",
    path: "/Greeter/ann@example.org/greet?x=1",
    headers: [...credentials, ...more],
    body: "{}",
  });
const receivedTraceparents = () => valuesOf(runtime.requests.at(-1)?.rawHeaders ?? [], "traceparent");

test("a request of a sampled trace has a span at the gateway, named by its route, and the runtime's are its children", async () => {
  expect((await call(["traceparent", `00-${TRACE}-${CALLER}-01`])).status).toBe(200);
  expect(spans).toMatchObject([
    {
      name: "POST /{}/{}/{}",
      kind: "server",
      traceId: TRACE,
      parentSpanId: CALLER,
      error: undefined,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/{}/{}/{}",
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
        "user_agent.original": "curl/8",
        "perdure.environment.id": facts.id,
        "perdure.api": "ingress",
      },
    },
  ]);
  expect(JSON.stringify(spans)).not.toContain("ann@example.org");
  expect(receivedTraceparents()).toEqual([`00-${TRACE}-${spans[0]?.spanId}-01`]);
});

test("an unsampled trace has no span, and an authenticated caller may request one", async () => {
  await call(["traceparent", `00-${TRACE}-${CALLER}-00`]);
  expect(spans).toEqual([]);
  expect(receivedTraceparents()).toEqual([expect.stringMatching(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))]);
  await call(["x-perdure-trace", "1"]);
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined]);
});

test("unauthenticated requests create no spans, and an unreachable runtime creates one with the reason", async () => {
  expect((await call(["x-perdure-trace", "1"], [])).status).toBe(401);
  expect(spans).toEqual([]);
  await runtime[Symbol.asyncDispose]();
  expect((await call([])).status).toBe(503);
  expect(spans).toMatchObject([
    { error: "upstream", attributes: { "error.type": "upstream", "http.response.status_code": 503 } },
  ]);
});
