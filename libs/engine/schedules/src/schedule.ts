/**
 * A schedule as it is stored: the definition (the record, changed by users, with a version) and its progress (the state, changed by
 * firings). They are stored separately, so that a firing does not write the payload again.
 */
import type { InvocationId, ScheduleId } from "@perdure/base";
import { parseRecurrence, type Timetable, timetableOf, zoneOf } from "@perdure/recurrence";

/** The handler that a firing calls. */
export interface ScheduleTarget {
  readonly service: string;
  readonly handler: string;
  /** A template (`firing-key.ts`); undefined for services, and for workflows whose key is the fire time. */
  readonly key: string | undefined;
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly priority: number | undefined;
}

/** The payload of a firing. */
export interface SchedulePayload {
  readonly contentType: string | undefined;
  readonly base64: string;
}

/** Treatment of a time that comes while the previous run continues. `cancelPrevious` fires as soon as the cancelled run has ended. */
export type OverlapPolicy =
  | { readonly kind: "skip" }
  | { readonly kind: "queue"; readonly max: number }
  | { readonly kind: "cancelPrevious" }
  | { readonly kind: "allow" };

/** Treatment of times that passed while no engine ran. */
export type CatchUpPolicy =
  | { readonly kind: "none" }
  | { readonly kind: "last" }
  /** Fires the newest `max` of the last `windowMs`. */
  | { readonly kind: "all"; readonly max: number; readonly windowMs: number };

/** The part that users define. Times in milliseconds since 1970. */
export interface ScheduleSpec {
  readonly name: string;
  readonly description: string | undefined;
  readonly cron: string;
  readonly zone: string;
  /** Firings are delayed by a random time up to this. */
  readonly jitterMs: number;
  /** Time before which the schedule does not fire; intervals count from it. */
  readonly startAtMs: number | undefined;
  /** Time after which the schedule does not fire. */
  readonly endAtMs: number | undefined;
  /** The schedule ends after this many firings; those by hand do not count. */
  readonly firingsMax: number | undefined;
  readonly target: ScheduleTarget;
  readonly payload: SchedulePayload;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly overlap: OverlapPolicy;
  readonly catchUp: CatchUpPolicy;
}

export interface ScheduleRecord extends ScheduleSpec {
  readonly id: ScheduleId;
  /** Version of the schedule from 1; it rises with each change by a user. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
}

/** Why a firing happened. */
export type FiringCause = "due" | "queued" | "caughtUp" | "manual";

/** A line of the history. `count` is above 1 only for missed times. */
export interface PastFiring {
  readonly outcome: "fired" | "failed" | "skipped" | "missed";
  readonly cause: FiringCause | undefined;
  /** The time of the timetable; of missed ones the last. */
  readonly nominalMs: number;
  /** Time of the decision. */
  readonly atMs: number;
  readonly invocationId: InvocationId | undefined;
  readonly detail: string | undefined;
  readonly count: number;
}

/** The run that the next one must not overlap. */
interface ActiveRun {
  readonly invocationId: InvocationId;
  readonly nominalMs: number;
}

export interface ScheduleState {
  readonly isPaused: boolean;
  /** All times up to here are decided. It never goes back, so no time is decided twice. */
  readonly decidedThroughMs: number;
  /** The latest run, until its end is recorded; always undefined under `allow`. */
  readonly active: ActiveRun | undefined;
  /** Times that wait for `active` to end, ascending. */
  readonly queue: readonly number[];
  readonly firedCount: number;
  readonly manualCount: number;
  readonly skippedCount: number;
  readonly failedCount: number;
  /** A lower bound after very long down times (`MISSED_COUNTED_MAX`). */
  readonly missedCount: number;
  /** The last submitted firing, by hand or not. */
  readonly lastFired: PastFiring | undefined;
  /** Newest first. */
  readonly recent: readonly PastFiring[];
}

export interface Schedule {
  readonly record: ScheduleRecord;
  readonly state: ScheduleState;
  readonly times: Timetable;
}

/** State of a new schedule, or of one whose times were changed: no time before `nowMs` is pending. */
export function freshState(nowMs: number): ScheduleState {
  return {
    isPaused: false,
    decidedThroughMs: nowMs,
    active: undefined,
    queue: [],
    firedCount: 0,
    manualCount: 0,
    skippedCount: 0,
    failedCount: 0,
    missedCount: 0,
    lastFired: undefined,
    recent: [],
  };
}

type TimetableOfSpec =
  | { readonly ok: true; readonly value: Timetable }
  | { readonly ok: false; readonly field: "cron" | "zone"; readonly reason: string };

/** Returns the timetable of a record, or the reason why there is none. */
export function timetableOfSpec(spec: Pick<ScheduleSpec, "cron" | "zone" | "startAtMs">): TimetableOfSpec {
  const recurrence = parseRecurrence(spec.cron);
  if (!recurrence.ok) return { ok: false, field: "cron", reason: recurrence.reason };
  const zone = zoneOf(spec.zone);
  if (zone === undefined) return { ok: false, field: "zone", reason: `'${spec.zone}' is not an IANA time zone` };
  return { ok: true, value: timetableOf(recurrence.value, zone, spec.startAtMs ?? 0) };
}
