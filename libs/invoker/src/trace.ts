/** W3C trace context: every attempt and every callee is a child span of its invocation. */
import type { Random } from "@perdure/base";
import { toHex } from "@perdure/base";
import type { TraceContext } from "@perdure/partition";

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;
const span = new Uint8Array(8);

/** The same trace with a fresh span id; undefined when there is no trace or its `traceparent` is invalid. */
export function childSpan(parent: TraceContext | undefined, random: Random): TraceContext | undefined {
  if (parent === undefined) return undefined;
  const parts = TRACEPARENT.exec(parent.traceparent);
  if (parts === null) return undefined;
  random.bytes(span);
  return { traceparent: `00-${parts[1]}-${toHex(span)}-${parts[2]}`, tracestate: parent.tracestate };
}
