/** A schedule as JSON: first the fields of its body, in a form that clients can send back, then its present state. */
import type { BackfillShape, NextTimesShape, ScheduleShape } from "@perdure/admin-contract";
import { formatDuration, formatTimestampNanos, fromBase64, fromUtf8Strict } from "@perdure/base";
import { zoneOf } from "@perdure/recurrence";
import {
  type BackfilledTime,
  nextNominal,
  OVERLAP_TEXTS,
  pastFiringView,
  type Schedule,
  type SchedulePayload,
  statusOf,
} from "@perdure/schedules";
import type { ViewOf } from "./response.js";

export function scheduleView(schedule: Schedule): ViewOf<typeof ScheduleShape> {
  const { record, state } = schedule;
  const { catchUp, overlap, target } = record;
  const nextMs = state.isPaused ? undefined : nextNominal(schedule);
  return {
    id: record.id,
    name: record.name,
    description: record.description ?? null,
    version: record.version,
    cron: record.cron,
    zone: record.zone,
    jitter: formatDuration(record.jitterMs),
    start_at: moment(record.startAtMs),
    end_at: moment(record.endAtMs),
    max_firings: record.firingsMax ?? null,
    target: {
      service: target.service,
      handler: target.handler,
      key: target.key ?? null,
      scope: target.scope ?? null,
      limit_key: target.limitKey ?? null,
      priority: target.priority ?? null,
    },
    ...payloadView(record.payload),
    headers: record.headers,
    overlap: OVERLAP_TEXTS[overlap.kind],
    max_queued: overlap.kind === "queue" ? overlap.max : null,
    catch_up: catchUp.kind,
    max_caught_up: catchUp.kind === "all" ? catchUp.max : null,
    catch_up_window: catchUp.kind === "all" ? formatDuration(catchUp.windowMs) : null,
    paused: state.isPaused,
    status: statusOf(schedule),
    next_at: moment(nextMs),
    last_scheduled_at: moment(state.lastFired?.nominalMs),
    last_fired_at: moment(state.lastFired?.atMs),
    last_invocation_id: state.lastFired?.invocationId ?? null,
    active_invocation_id: state.active?.invocationId ?? null,
    queued: state.queue.map((atMs) => formatTimestampNanos(atMs)),
    fired_count: state.firedCount,
    manual_count: state.manualCount,
    skipped_count: state.skippedCount,
    failed_count: state.failedCount,
    missed_count: state.missedCount,
    recent: state.recent.map(pastFiringView),
    created_at: formatTimestampNanos(record.createdAtMs),
    modified_at: formatTimestampNanos(record.modifiedAtMs),
  };
}

/** The time in UTC and in the local time of the zone. */
export function nextTimeView(atMs: number, zoneName: string): ViewOf<typeof NextTimesShape>["next"][number] {
  const offsetMs = zoneOf(zoneName)?.offsetAt(atMs) ?? 0;
  return { at: formatTimestampNanos(atMs), local: localText(atMs, offsetMs) };
}

const BACKFILL_OUTCOMES = { new: "new", alreadyRan: "already_ran", failed: "failed" } as const;

export function backfillView(
  { record }: Schedule,
  times: readonly BackfilledTime[],
  isDryRun: boolean,
): ViewOf<typeof BackfillShape> {
  const countOf = (outcome: BackfilledTime["outcome"]): number => times.filter((time) => time.outcome === outcome).length;
  return {
    schedule_id: record.id,
    dry_run: isDryRun,
    count: times.length,
    first: moment(times[0]?.nominalMs),
    last: moment(times.at(-1)?.nominalMs),
    new_count: countOf("new"),
    already_ran_count: countOf("alreadyRan"),
    failed_count: countOf("failed"),
    times: times.map(({ nominalMs, outcome, invocationId, detail }) => ({
      ...nextTimeView(nominalMs, record.zone),
      outcome: BACKFILL_OUTCOMES[outcome],
      invocation_id: invocationId,
      detail: detail ?? null,
    })),
  };
}

/** JSON as itself; anything else as base64. */
function payloadView({ contentType, base64 }: SchedulePayload) {
  const type = { content_type: contentType ?? null };
  if (base64 === "") return type;
  if (contentType !== "application/json") return { ...type, payload_base64: base64 };
  try {
    return { ...type, payload: JSON.parse(fromUtf8Strict(fromBase64(base64)) ?? "") as unknown };
  } catch (cause) {
    if (cause instanceof SyntaxError) return { ...type, payload_base64: base64 }; // The content type is JSON, but the bytes are not.
    throw cause;
  }
}

function moment(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTimestampNanos(ms);
}

/** `2026-10-25T02:30:00+01:00`. */
function localText(atMs: number, offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const clock = new Date(atMs + offsetMs).toISOString().replace(/(?:\.000)?Z$/, "");
  return `${clock}${offsetMs < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
