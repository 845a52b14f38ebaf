/** Finds the awakeables and signals that running invocations wait for in their trees of waits. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { textOf } from "../rows.js";
import { awakeableIdOf, FIRST_AWAKEABLE_SIGNAL } from "./awakeable-id.js";

/** Invocations that are searched; with more of them the user pastes an id. */
export const WAITING_SHOWN_MAX = 500;

export interface PendingAwakeable {
  readonly id: string;
  readonly invocationId: string;
  readonly target: string;
  readonly status: string;
  /** Time since which the invocation has its present status. */
  readonly since: string | undefined;
}

/** Unfinished invocations that wait for a signal that is an awakeable, those that wait longest first. */
export const WAITING_STATEMENT =
  "SELECT id, target, status, modified_at, suspended_waiting_future_json, last_awaiting_on_future_json FROM sys_invocation " +
  "WHERE status <> 'completed' AND " +
  `(list_max(suspended_waiting_for_signals) >= ${FIRST_AWAKEABLE_SIGNAL} OR contains(last_awaiting_on_future_json, 'SignalIndex')) ` +
  `ORDER BY modified_at LIMIT ${WAITING_SHOWN_MAX}`;

export function awakeablesOf(rows: readonly SqlRow[]): readonly PendingAwakeable[] {
  return rows.flatMap((row) => {
    const invocationId = textOf(row, "id") ?? "";
    const tree = textOf(row, "suspended_waiting_future_json") ?? textOf(row, "last_awaiting_on_future_json") ?? "null";
    return [...signalsIn(JSON.parse(tree))]
      .filter((index) => index >= FIRST_AWAKEABLE_SIGNAL)
      .sort((a, b) => a - b)
      .map((index) => ({
        id: awakeableIdOf(invocationId, index),
        invocationId,
        target: textOf(row, "target") ?? "",
        status: textOf(row, "status") ?? "",
        since: textOf(row, "modified_at"),
      }));
  });
}

/** Numbers of signals anywhere in `{"Unknown":[{"Single":{"SignalIndex":17}}, …]}`. */
function signalsIn(tree: unknown, signals = new Set<number>()): ReadonlySet<number> {
  if (typeof tree !== "object" || tree === null) return signals;
  for (const [name, value] of Object.entries(tree)) {
    if (name === "SignalIndex" && typeof value === "number") signals.add(value);
    else signalsIn(value, signals);
  }
  return signals;
}
