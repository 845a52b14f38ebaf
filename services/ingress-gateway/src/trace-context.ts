/** The caller's span becomes the parent of the invocation's trace if it is valid (W3C Trace Context §3.2). */
import type { TraceContext } from "@perdure/state-machine";

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
const VERSION_0_CHARS = 55;

/** The caller's context, or undefined when its `traceparent` is invalid: then its `tracestate` is ignored too. */
export function traceContextOf(traceparent: string | undefined, tracestate: string | undefined): TraceContext | undefined {
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
  if (traceparent.startsWith("00") && traceparent.length !== VERSION_0_CHARS) return undefined;
  return { traceparent, tracestate };
}
