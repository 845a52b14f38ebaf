/**
 * What an invocation waits for is not always an entry of its journal: awakeables and signals have none until they are completed, and the
 * next attempt after a failure is still to come. The explanation has them; the timeline shows each as a row that ends now. Pure.
 */
import type { ExplanationView } from "@perdure/admin-client";
import { isRecord } from "../../kit/problem-text.js";
import { type InvocationTimeline, momentMs, type TimeSpan } from "./invocation-timeline.js";
import { WAITS_SHOWN_MAX } from "./limits.js";

export interface PendingWait extends TimeSpan {
  readonly kind: "awakeable" | "signal" | "retry";
  /** Id of the awakeable, name of the signal, number of the attempt. */
  readonly name: string;
  /** Milliseconds from now until the next attempt starts; undefined while it waits for a slot. */
  readonly startsInMs: number | undefined;
}

/** Rows for current waits that no step shows. */
export function pendingWaitsOf(explanation: ExplanationView, timeline: InvocationTimeline): readonly PendingWait[] {
  if (timeline.isDone) return [];
  const { waits_for: wait } = explanation;
  const span = {
    fromMs: Math.min(timeline.span.toMs, Math.max(timeline.span.fromMs, momentMs(explanation.since))),
    toMs: timeline.span.toMs,
  };
  if (wait.kind === "retry") return [{ ...span, ...retryOf(wait, momentMs(explanation.at)) }];
  const leaves = [...leavesOf(wait["awaiting"]), ...leavesOf({ of: wait["open"] })];
  const uniqueKeys = new Set<string>();
  const waits: PendingWait[] = [];
  for (const leaf of leaves) {
    const kind = leaf["kind"];
    if (kind !== "awakeable" && kind !== "signal") continue;
    const name = String(leaf[kind === "awakeable" ? "id" : "name"] ?? "");
    if (uniqueKeys.has(`${kind} ${name}`) || waits.length >= WAITS_SHOWN_MAX) continue;
    uniqueKeys.add(`${kind} ${name}`);
    waits.push({ ...span, kind, name, startsInMs: undefined });
  }
  return waits;
}

function retryOf(wait: Readonly<Record<string, unknown>>, nowMs: number): Omit<PendingWait, keyof TimeSpan> {
  const { attempts, next_at: nextAt } = wait;
  return {
    kind: "retry",
    name: typeof attempts === "number" ? String(attempts + 1) : "",
    startsInMs: typeof nextAt === "string" ? Math.max(0, momentMs(nextAt) - nowMs) : undefined,
  };
}

/** Returns the leaves of a tree of `{wants, of}` nodes. */
function leavesOf(awaited: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isRecord(awaited)) return [];
  const { of } = awaited;
  return Array.isArray(of) ? of.flatMap(leavesOf) : "kind" in awaited ? [awaited] : [];
}
