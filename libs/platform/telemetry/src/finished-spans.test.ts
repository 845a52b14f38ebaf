import { expect, test } from "@jest/globals";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { AlwaysOnSampler, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { finishedSpans, RecordedIds } from "./finished-spans.js";
import type { SpanRecord } from "./telemetry.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const record: SpanRecord = {
  name: "invocation-attempt Greeter/greet",
  kind: "client",
  traceId: TRACE,
  spanId: "b7ad6b7169203331",
  parentSpanId: "00f067aa0ba902b7",
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_012.5,
  attributes: { "perdure.attempt": 2 },
  error: "connection refused",
};

function aTracer() {
  const ids = new RecordedIds();
  const exporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor({ exporter });
  const provider = new TracerProvider({ idGenerator: ids, sampler: new AlwaysOnSampler(), spanProcessors: [processor] });
  return { exporter, processor, tracer: finishedSpans(provider, ids, { name: "perdure", version: "1" }) };
}

test("a span gets ids, parent, times, attributes and status of its record", async () => {
  const { exporter, processor, tracer } = aTracer();
  tracer.record(record);
  await processor.forceFlush();
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({
    name: record.name,
    kind: SpanKind.CLIENT,
    parentSpanContext: { traceId: TRACE, spanId: record.parentSpanId },
    startTime: [1_700_000_000, 250_000],
    endTime: [1_700_000_000, 12_500_000],
    attributes: record.attributes,
    status: { code: SpanStatusCode.ERROR, message: "connection refused" },
    instrumentationScope: { name: "perdure", version: "1" },
  });
  expect(span?.spanContext()).toMatchObject({ traceId: TRACE, spanId: record.spanId });
});

test("a span without a parent begins the trace of its record, and links to others", async () => {
  const { exporter, processor, tracer } = aTracer();
  const links = [{ traceId: "b".repeat(32), spanId: "c".repeat(16) }];
  tracer.record({ ...record, parentSpanId: undefined, links, error: undefined });
  await processor.forceFlush();
  const [span] = exporter.getFinishedSpans();
  expect(span?.parentSpanContext).toBeUndefined();
  expect(span?.spanContext().traceId).toBe(TRACE);
  expect(span?.status.code).toBe(SpanStatusCode.UNSET);
  expect(span?.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([["b".repeat(32), "c".repeat(16)]]);
});

test("a span that seems to end before it began, because the clock was set, takes no time", async () => {
  const { exporter, processor, tracer } = aTracer();
  tracer.record({ ...record, endMs: record.startMs - 5_000 });
  await processor.forceFlush();
  expect(exporter.getFinishedSpans().map(({ duration }) => duration)).toEqual([[0, 0]]);
});
