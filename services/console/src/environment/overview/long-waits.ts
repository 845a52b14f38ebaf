/**
 * Work that neither runs nor fails is easily overlooked. Ready invocations should run within seconds; pending ones wait for the lock of
 * their object or for a limit, which is normal for a while. Services that wait for a slot have a section of their own. Pure.
 */
import type { SqlRow } from "@perdure/admin-client";
import { numberOf, textOf } from "../rows.js";
import type { ServiceSlotWait } from "./slot-waits.js";

/** Time that an invocation may be in a status before it is shown to operators. */
const LONG_MS = { ready: 30_000, pending: 5 * 60_000 } as const;

export interface LongWait {
  readonly service: string;
  readonly status: keyof typeof LONG_MS;
  readonly count: number;
  readonly longestMs: number;
  /** The invocation that has waited longest: its page shows the reason. */
  readonly invocationId: string;
}

/** Returns long waits from the rows that count invocations by service and status; the longest wait first. */
export function longWaitsOf(now: readonly SqlRow[], slotWaits: readonly ServiceSlotWait[]): readonly LongWait[] {
  const forSlots = new Set(slotWaits.map(({ service }) => service));
  return now
    .flatMap((row): LongWait[] => {
      const status = textOf(row, "status");
      const service = textOf(row, "service") ?? "";
      const longestMs = numberOf(row, "longest_ms");
      if ((status !== "ready" && status !== "pending") || longestMs < LONG_MS[status]) return [];
      if (status === "ready" && forSlots.has(service)) return [];
      return [{ service, status, count: numberOf(row, "n"), longestMs, invocationId: textOf(row, "id") ?? "" }];
    })
    .sort((a, b) => b.longestMs - a.longestMs);
}
