/** The caller's span becomes the parent of the invocation's trace if it is valid (W3C Trace Context §3.2). */

import type { TraceContext } from "@perdure/state-machine";
import { idsOf } from "@perdure/telemetry";

/** The caller's context, or undefined when its `traceparent` is invalid: then its `tracestate` is ignored too. */
export function traceContextOf(traceparent: string | undefined, tracestate: string | undefined): TraceContext | undefined {
  if (traceparent === undefined || idsOf(traceparent) === undefined) return undefined;
  return { traceparent, tracestate };
}
