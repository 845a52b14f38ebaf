/** The relay's span of a request is a child of the attempt's span and the parent of the handler's. */

import { expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { Sampler, type SpanRecord, tracedEdge } from "@perdure/telemetry";
import { until } from "@perdure/testkit";
import { aWorld, FakeRuntime } from "./fixture.js";
import { aServed } from "./local.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const ATTEMPT = "b7ad6b7169203331";

test("a request of a sampled trace has a span at the relay; one without a trace begins none", async () => {
  const spans: SpanRecord[] = [];
  const tracer = { enabled: true, record: (span: SpanRecord) => void spans.push(span) };
  const sampler = new Sampler({ ratio: 1 }, systemRandom);
  const edge = tracedEdge({ tracer, sampler, clock: systemClock, random: systemRandom, logger: silentLogger }, "server");
  await using world = await aWorld({}, { edge });
  const { tenant } = world;
  await using served = await aServed(world, { tunnelPort: 9080 });
  await using runtime = new FakeRuntime(world);
  const request = { tenant, path: "t/http/localhost/9080/invoke/S/h", audience: "/invoke/S/h", body: "hi" };
  await runtime.request(request);
  expect(served.local.last["traceparent"]).toBeUndefined();
  await runtime.request({ ...request, headers: { traceparent: `00-${TRACE}-${ATTEMPT}-01` } });
  await until(() => spans.length > 0);
  expect(spans).toMatchObject([
    {
      name: "POST /{environment}/{tunnel}/{destination}",
      kind: "server",
      traceId: TRACE,
      parentSpanId: ATTEMPT,
      error: undefined,
      attributes: {
        "http.response.status_code": 200,
        "network.protocol.version": "2",
        "perdure.environment.id": tenant.facts.id,
      },
    },
  ]);
  expect(served.local.last["traceparent"]).toBe(`00-${TRACE}-${spans[0]?.spanId}-01`);
});
