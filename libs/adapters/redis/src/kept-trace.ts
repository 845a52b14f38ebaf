/** Determines which trace the span of a commit belongs to. */
import type { PartitionBatch } from "@perdure/storage";

/** `traceparent` ends in the flags; the lowest bit means that the trace is kept. */
const KEPT = /-[0-9a-f][13579bdf]$/;

export function keptTraceOf(batches: readonly PartitionBatch[]): string | undefined {
  for (const { mutations } of batches) {
    for (const mutation of mutations) {
      const traceparent = mutation.kind === "putInvocation" ? mutation.invocation.facts.trace?.traceparent : undefined;
      if (traceparent !== undefined && KEPT.test(traceparent)) return traceparent;
    }
  }
  return undefined;
}
