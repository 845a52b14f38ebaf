/**
 * W3C trace context: every attempt and every callee that a caller waits for is a child span of its invocation. A one-way call continues
 * after its sender and begins a trace of its own, which is sampled when its sender's trace is.
 */
import { present, type Random, toHex } from "@perdure/base";
import type { TraceContext } from "@perdure/state-machine";

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;
const span = new Uint8Array(8);
const trace = new Uint8Array(16);

/** The same trace with a fresh span id; undefined when there is no trace or its `traceparent` is invalid. */
export function childSpan(parent: TraceContext | undefined, random: Random): TraceContext | undefined {
  if (parent === undefined) return undefined;
  const parts = TRACEPARENT.exec(parent.traceparent);
  if (parts === null) return undefined;
  random.bytes(span);
  return { traceparent: `00-${parts[1]}-${toHex(span)}-${parts[2]}`, tracestate: parent.tracestate };
}

/** The first span of a new trace, sampled when the sender's trace is; undefined when the sender has none. */
export function sentSpan(sender: TraceContext | undefined, random: Random): TraceContext | undefined {
  if (sender === undefined) return undefined;
  const parts = TRACEPARENT.exec(sender.traceparent);
  if (parts === null) return undefined;
  random.bytes(trace);
  random.bytes(span);
  return { traceparent: `00-${toHex(trace)}-${toHex(span)}-${parts[2]}`, tracestate: undefined };
}

/** Field of log lines about an invocation; empty when the invocation has no trace. */
export function traceIdOf(trace: TraceContext | undefined): { readonly trace_id?: string } {
  const parts = trace === undefined ? null : TRACEPARENT.exec(trace.traceparent);
  return parts === null ? {} : { trace_id: present(parts[1]) };
}
