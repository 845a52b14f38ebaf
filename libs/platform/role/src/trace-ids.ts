/** Reads and writes W3C trace context as text. */
import { type Random, toHex } from "@perdure/base";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

export interface SpanIds {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

export function idsOf(traceparent: string | undefined): SpanIds | undefined {
  const parts = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (parts === null) return undefined;
  return { traceId: parts[1]!, spanId: parts[2]!, sampled: (Number.parseInt(parts[3]!, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, sampled }: SpanIds): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** A span under `parent`, or the first of a trace. */
export function childOf(parent: SpanIds | undefined, sampled: boolean, random: Random): SpanIds {
  return { traceId: parent?.traceId ?? randomHex(random, 16), spanId: randomHex(random, 8), sampled };
}

function randomHex(random: Random, bytes: number): string {
  const into = new Uint8Array(bytes);
  random.bytes(into);
  return toHex(into);
}
