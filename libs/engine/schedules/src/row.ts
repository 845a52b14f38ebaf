/** Builds the rows of `sys_schedule`: schedules as flat plain data, for introspection. */
import { formatTimestampNanos } from "@perdure/base";
import type { OverlapPolicy, PastFiring, Schedule } from "./schedule.js";
import { nextNominal, statusOf } from "./upcoming.js";

/** Policies and causes as the management API names them. */
export const OVERLAP_TEXTS = {
  skip: "skip",
  queue: "queue",
  cancelPrevious: "cancel_previous",
  allow: "allow",
} as const satisfies { readonly [kind in OverlapPolicy["kind"]]: string };
const CAUSE_TEXTS = { due: "due", queued: "queued", caughtUp: "caught_up", manual: "manual" } as const;

export function scheduleRow(schedule: Schedule) {
  const { record, state } = schedule;
  const { target, overlap, catchUp, payload } = record;
  return {
    id: record.id,
    name: record.name,
    description: record.description,
    status: statusOf(schedule),
    cron: record.cron,
    zone: record.zone,
    jitterMs: record.jitterMs,
    startAtMs: record.startAtMs,
    endAtMs: record.endAtMs,
    firingsMax: record.firingsMax,
    service: target.service,
    handler: target.handler,
    key: target.key,
    scope: target.scope,
    limitKey: target.limitKey,
    priority: target.priority,
    contentType: payload.contentType,
    payloadLength: Math.floor((payload.base64.replace(/=+$/, "").length * 3) / 4),
    overlap: OVERLAP_TEXTS[overlap.kind],
    queuedMax: overlap.kind === "queue" ? overlap.max : undefined,
    catchUp: catchUp.kind,
    caughtUpMax: catchUp.kind === "all" ? catchUp.max : undefined,
    catchUpWindowMs: catchUp.kind === "all" ? catchUp.windowMs : undefined,
    nextAtMs: state.isPaused ? undefined : nextNominal(schedule),
    lastScheduledAtMs: state.lastFired?.nominalMs,
    lastFiredAtMs: state.lastFired?.atMs,
    lastInvocationId: state.lastFired?.invocationId,
    activeInvocationId: state.active?.invocationId,
    queuedCount: state.queue.length,
    firedCount: state.firedCount,
    manualCount: state.manualCount,
    skippedCount: state.skippedCount,
    failedCount: state.failedCount,
    missedCount: state.missedCount,
    recentJson: JSON.stringify(state.recent.map(pastFiringView)),
    version: record.version,
    createdAtMs: record.createdAtMs,
    modifiedAtMs: record.modifiedAtMs,
  };
}

/** A line of the history as users see it. */
export function pastFiringView(past: PastFiring) {
  return {
    outcome: past.outcome,
    cause: past.cause === undefined ? null : CAUSE_TEXTS[past.cause],
    scheduled_at: formatTimestampNanos(past.nominalMs),
    decided_at: formatTimestampNanos(past.atMs),
    invocation_id: past.invocationId ?? null,
    detail: past.detail ?? null,
    count: past.count,
  };
}
