/**
 * Events of a schedule that fold into its state. An event may meet a newer state than the one it was decided on (users change schedules
 * meanwhile), so folding never reverts a change and never fails.
 */
import type { InvocationId } from "@perdure/base";
import { RECENT_MAX } from "./limits.js";
import type { FiringCause, PastFiring, ScheduleRecord, ScheduleState } from "./schedule.js";

export type ScheduleEvent =
  /** The invocation of the time is durable. */
  | {
      readonly kind: "fired";
      readonly cause: FiringCause;
      readonly nominalMs: number;
      readonly atMs: number;
      readonly invocationId: InvocationId;
    }
  /** The time could not become an invocation, and a retry would not help. */
  | {
      readonly kind: "failed";
      readonly cause: FiringCause;
      readonly nominalMs: number;
      readonly atMs: number;
      readonly detail: string;
    }
  /** The previous run continues and the policy skips the time, or (of a queued time) a newer one took its place. */
  | { readonly kind: "skipped"; readonly nominalMs: number; readonly atMs: number }
  | { readonly kind: "queued"; readonly nominalMs: number }
  | { readonly kind: "missed"; readonly count: number; readonly throughMs: number; readonly atMs: number }
  /** The run has an outcome, or its record no longer exists. */
  | { readonly kind: "runEnded"; readonly invocationId: InvocationId };

export function applyEvent(record: ScheduleRecord, state: ScheduleState, event: ScheduleEvent): ScheduleState {
  switch (event.kind) {
    case "fired": {
      const past = { ...pastOf(event), outcome: "fired" as const, cause: event.cause, invocationId: event.invocationId };
      const line: PastFiring = { ...past, detail: undefined };
      const isManual = event.cause === "manual";
      const watched = !isManual && record.overlap.kind !== "allow";
      return {
        ...(isManual ? state : decided(state, event.nominalMs)),
        active: watched ? { invocationId: event.invocationId, nominalMs: event.nominalMs } : state.active,
        firedCount: state.firedCount + (isManual ? 0 : 1),
        manualCount: state.manualCount + (isManual ? 1 : 0),
        lastFired: line,
        recent: withLine(state, line),
      };
    }
    case "failed": {
      const line: PastFiring = {
        ...pastOf(event),
        outcome: "failed",
        cause: event.cause,
        invocationId: undefined,
        detail: event.detail,
      };
      const base = event.cause === "manual" ? state : decided(state, event.nominalMs);
      return { ...base, failedCount: state.failedCount + 1, recent: withLine(state, line) };
    }
    case "skipped": {
      const line: PastFiring = {
        ...pastOf(event),
        outcome: "skipped",
        cause: undefined,
        invocationId: undefined,
        detail: undefined,
      };
      return { ...decided(state, event.nominalMs), skippedCount: state.skippedCount + 1, recent: withLine(state, line) };
    }
    case "queued": {
      const queue = [...state.queue.filter((at) => at !== event.nominalMs), event.nominalMs].sort((a, b) => a - b);
      return { ...state, queue, decidedThroughMs: Math.max(state.decidedThroughMs, event.nominalMs) };
    }
    case "missed": {
      const decidedThroughMs = Math.max(state.decidedThroughMs, event.throughMs);
      if (event.count === 0) return { ...state, decidedThroughMs };
      const line: PastFiring = {
        outcome: "missed",
        cause: undefined,
        nominalMs: event.throughMs,
        atMs: event.atMs,
        invocationId: undefined,
        detail: undefined,
        count: event.count,
      };
      return { ...state, decidedThroughMs, missedCount: state.missedCount + event.count, recent: withLine(state, line) };
    }
    case "runEnded":
      return state.active?.invocationId === event.invocationId ? { ...state, active: undefined } : state;
  }
}

/** Marks the time as decided and removes it from the queue. */
function decided(state: ScheduleState, nominalMs: number): ScheduleState {
  return {
    ...state,
    queue: state.queue.includes(nominalMs) ? state.queue.filter((at) => at !== nominalMs) : state.queue,
    decidedThroughMs: Math.max(state.decidedThroughMs, nominalMs),
  };
}

function pastOf({ nominalMs, atMs }: { readonly nominalMs: number; readonly atMs: number }) {
  return { nominalMs, atMs, count: 1 };
}

function withLine({ recent }: ScheduleState, line: PastFiring): readonly PastFiring[] {
  return [line, ...recent.slice(0, RECENT_MAX - 1)];
}
