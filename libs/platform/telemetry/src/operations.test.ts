import { describe, expect, test } from "@jest/globals";
import { observers, silentLogger } from "@perdure/base";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { Metrics } from "./metrics.js";
import { measuredOperations, tracedEdge, tracedOperations } from "./operations.js";
import { Sampler } from "./sampling.js";
import { grpcSpan, postgresSpan } from "./span-shapes.js";
import { noTracer, type SpanRecord } from "./telemetry.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

function aWorld(ratio = 0) {
  const spans: SpanRecord[] = [];
  const tracer = { enabled: true, record: (span: SpanRecord) => void spans.push(span) };
  const random = new SeededRandom(3);
  const clock = new VirtualClock();
  return { spans, clock, ports: { tracer, sampler: new Sampler({ ratio }, random), clock, random, logger: silentLogger } };
}

describe("operations that are traced", () => {
  test("lie below the current work of the process, across promises, and pass their ids to the next process", async () => {
    const { spans, ports } = aWorld();
    const edge = tracedEdge(ports, "server");
    const clientOperations = tracedOperations(ports, "client", grpcSpan);
    const span = edge?.begin(`00-${TRACE}-${CALLER}-01`, false);
    const result = await span?.run(async () => {
      await Promise.resolve();
      const operation = clientOperations?.begin("Change", "perdure.control.v1.Registry");
      operation?.end("UNAVAILABLE");
      return operation?.traceparent;
    });
    span?.note({ name: "POST /deployments", attributes: { "http.route": "/deployments" } });
    span?.end(undefined);
    const [clientSpan, served] = spans;
    expect(served).toMatchObject({ name: "POST /deployments", kind: "server", traceId: TRACE, parentSpanId: CALLER });
    expect(clientSpan).toMatchObject({
      name: "perdure.control.v1.Registry/Change",
      kind: "client",
      parentSpanId: served?.spanId,
      error: "UNAVAILABLE",
      attributes: { "rpc.system": "grpc", "rpc.method": "Change", "error.type": "UNAVAILABLE" },
    });
    expect(result).toBe(`00-${TRACE}-${clientSpan?.spanId}-01`);
  });

  test.each([
    [undefined, 0],
    ["CANCELLED", 1],
    ["NOT_FOUND", 5],
    ["UNAVAILABLE", 14],
    ["UNAUTHENTICATED", 16],
    ["something else", 2],
  ])("of gRPC that end with %s have its number", (error, number) => {
    const { spans, ports } = aWorld();
    tracedOperations(ports, "server", grpcSpan)?.begin("Ask", "s", `00-${TRACE}-${CALLER}-01`).end(error);
    expect(spans.map(({ attributes }) => attributes["rpc.grpc.status_code"])).toEqual([number]);
  });

  test("without a trace, and in a trace that is not kept, leave no span", () => {
    const { spans, ports } = aWorld();
    const statements = tracedOperations(ports, "client", postgresSpan);
    statements?.begin("SELECT", "documents").end(undefined);
    const span = tracedEdge(ports, "server")?.begin(`00-${TRACE}-${CALLER}-00`, false);
    span?.run(() => statements?.begin("SELECT", "documents").end("40"));
    span?.end(undefined);
    expect(spans).toEqual([]);
    expect(tracedOperations(ports, "server", grpcSpan)?.begin("Change", "x").traceparent).toBeUndefined();
  });

  test("at an edge are kept when they fail or are slow, although their trace is not", () => {
    const { spans, ports, clock } = aWorld();
    const edge = tracedEdge(ports, "server");
    edge?.begin(undefined, false).end("RT0001");
    const slow = edge?.begin(undefined, false);
    clock.advanceBy(6_000);
    slow?.end(undefined);
    edge?.begin(undefined, false).end(undefined);
    expect(spans.map(({ error }) => error)).toEqual(["RT0001", undefined]);
  });

  test("cost nothing while tracing is off: there is no observer", () => {
    const { ports } = aWorld();
    const off = { ...ports, tracer: noTracer };
    expect(tracedOperations(off, "client", postgresSpan)).toBeUndefined();
    expect(tracedEdge(off, "server")).toBeUndefined();
    expect(observers(undefined, tracedOperations(off, "client", postgresSpan))).toBeUndefined();
  });
});

test("several observers get one operation, measured and traced", () => {
  const { spans, ports, clock } = aWorld();
  const metrics = new Metrics();
  const durations = metrics.histogram({ name: "d_seconds", help: "D", labels: { method: ["Ask"] } });
  const counts = metrics.counter({ name: "c_total", help: "C", labels: { method: ["Ask"], code: ["ok", "INTERNAL"] } });
  const measured = measuredOperations({ durations, counts, labels: (method) => [method] }, clock);
  const observer = observers(measured, tracedOperations(ports, "server", grpcSpan));
  for (const error of [undefined, "INTERNAL"]) {
    const operation = observer?.begin("Ask", "s", `00-${TRACE}-${CALLER}-01`);
    expect(operation?.run(() => 42)).toBe(42);
    clock.advanceBy(2_000);
    operation?.end(error);
  }
  expect(metrics.text()).toContain('c_total{method="Ask",code="ok"} 1\nc_total{method="Ask",code="INTERNAL"} 1');
  expect(metrics.text()).toContain('d_seconds_sum{method="Ask"} 4');
  expect(spans.map(({ error }) => error)).toEqual([undefined, "INTERNAL"]);
});
