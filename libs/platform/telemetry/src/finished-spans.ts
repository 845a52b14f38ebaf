/**
 * Creates spans with OpenTelemetry's tracer after they have ended. Their ids were chosen when the work began, often by another process,
 * and so was the decision to keep them: the tracer gets its ids from the record, and its sampler must keep every span.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type TracerProvider, trace } from "@opentelemetry/api";
import type { IdGenerator } from "@opentelemetry/sdk-trace";
import type { SpanRecord, Tracer } from "./telemetry.js";

/** The ids of the record that is written now. A tracer requests them while it starts a span, and starting a span is synchronous. */
export class RecordedIds implements IdGenerator {
  #record: Pick<SpanRecord, "traceId" | "spanId"> = { traceId: "", spanId: "" };

  set(record: Pick<SpanRecord, "traceId" | "spanId">): void {
    this.#record = record;
  }

  generateTraceId(): string {
    return this.#record.traceId;
  }

  generateSpanId(): string {
    return this.#record.spanId;
  }
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const satisfies Readonly<Record<SpanRecord["kind"], SpanKind>>;

/** `provider`: made with these `ids` as its generator, and with a sampler that keeps every span. */
export function finishedSpans(provider: TracerProvider, ids: RecordedIds, scope: { name: string; version: string }): Tracer {
  const tracer = provider.getTracer(scope.name, scope.version);
  const traceFlags = TraceFlags.SAMPLED;
  return {
    enabled: true,
    record({ name, kind, traceId, spanId, parentSpanId, startMs, endMs, attributes, error, links = [] }) {
      const parent =
        parentSpanId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentSpanId, traceFlags });
      ids.set({ traceId, spanId });
      const options = {
        kind: KINDS[kind],
        startTime: startMs,
        attributes,
        links: links.map((link) => ({ context: { ...link, traceFlags } })),
      };
      const span = tracer.startSpan(name, options, parent);
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end(Math.max(startMs, endMs)); // The machine's clock may have been set back meanwhile.
    },
  };
}
