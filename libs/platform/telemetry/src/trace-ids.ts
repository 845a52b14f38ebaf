/** Trace context: its text form (`traceparent` of W3C), its form in OpenTelemetry, and the ids of new spans. */
import { type Context, ROOT_CONTEXT, TraceFlags, trace } from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import { type Random, toHex } from "@perdure/base";

export interface SpanIds {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Read by the parser of `W3CTraceContextPropagator`; undefined for a text that it refuses. */
export function idsOf(traceparent: string | undefined): SpanIds | undefined {
  const context = traceparent === undefined ? null : parseTraceParent(traceparent);
  if (context === null) return undefined;
  const { traceId, spanId, traceFlags } = context;
  return { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 };
}

/**
 * The text that `W3CTraceContextPropagator` injects. Every request of a traced server needs it, also those whose trace is not kept, and
 * the propagator writes it from a context that must be made first: more than ten times the cost of this template.
 */
export function traceparentOf({ traceId, spanId, sampled }: SpanIds): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** A context of OpenTelemetry in which the span with these ids is active. */
export function contextOf({ traceId, spanId, sampled }: SpanIds): Context {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags });
}

/** A new span of the trace. */
export function childOf({ traceId }: Pick<SpanIds, "traceId">, sampled: boolean, random: Random): SpanIds {
  return { traceId, spanId: randomHex(random, 8), sampled };
}

export function newTraceId(random: Random): string {
  return randomHex(random, 16);
}

function randomHex(random: Random, bytes: number): string {
  const into = new Uint8Array(bytes);
  random.bytes(into);
  return toHex(into);
}
