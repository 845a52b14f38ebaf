/**
 * Invocations that could run and have waited for a slot of their worker for long: which services, how many, and what holds the slots. Pure.
 */
import type { SqlRow } from "@perdure/admin-client";
import { numberOf, textOf } from "../rows.js";

/** One row for each service, by the rows of `sys_slot_wait`. */
export const SLOT_WAITS = `SELECT service, count(*) AS n, epoch_ms(now()) - epoch_ms(min(queued_at)) AS longest_ms, min_by(id, queued_at) AS id
FROM sys_slot_wait GROUP BY 1 ORDER BY n DESC LIMIT 20`;

/** Shorter waits belong to every burst of calls; the alert PerdureSlotsExhausted has the same bound. */
const LONG_WAIT_MS = 10_000;

export interface ServiceSlotWait {
  readonly service: string;
  readonly count: number;
  readonly longestMs: number;
  /** The one that has waited longest. */
  readonly invocationId: string;
}

/** Services whose invocations have waited for long, most first. */
export function slotWaitsOf(rows: readonly SqlRow[]): readonly ServiceSlotWait[] {
  return rows
    .map((row) => ({
      service: textOf(row, "service") ?? "",
      count: numberOf(row, "n"),
      longestMs: numberOf(row, "longest_ms"),
      invocationId: textOf(row, "id") ?? "",
    }))
    .filter(({ longestMs }) => longestMs >= LONG_WAIT_MS)
    .sort((a, b) => b.count - a.count);
}

export interface SlotHolder {
  readonly service: string;
  readonly running: number;
}

const HOLDERS_MAX = 3;

/** Services with the most running invocations, by the rows that count invocations by service and status. */
export function slotHoldersOf(now: readonly SqlRow[]): readonly SlotHolder[] {
  return now
    .filter((row) => textOf(row, "status") === "running")
    .map((row) => ({ service: textOf(row, "service") ?? "", running: numberOf(row, "n") }))
    .sort((a, b) => b.running - a.running)
    .slice(0, HOLDERS_MAX);
}
