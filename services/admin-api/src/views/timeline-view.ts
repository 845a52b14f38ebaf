/** A timeline as JSON. Payloads are sizes unless the request includes them, and then at most a readable part. */

import { isUtf8 } from "node:buffer";
import type { TimelineShape } from "@perdure/admin-contract";
import type { InvocationPhase, JournalStep, PhaseSegment, Timeline, TimelineAttempt } from "@perdure/diagnostics";
import { PAYLOAD_BYTES_SHOWN_MAX, PAYLOADS_BYTES_SHOWN_MAX } from "@perdure/diagnostics";
import { type Invocation, type InvocationFacts, targetText } from "@perdure/state-machine";
import { failureView, optionalTime, timeView } from "./explain-view.js";
import type { ViewOf } from "./response.js";

type TimelineResponse = ViewOf<typeof TimelineShape>;

const PHASES: Readonly<Record<InvocationPhase, string>> = {
  delayed: "delayed",
  queued: "queued",
  running: "running",
  suspended: "suspended",
  backingOff: "backing_off",
  paused: "paused",
  completed: "completed",
};

export function timelineView(timeline: Timeline, invocation: Invocation, withPayloads: boolean): TimelineResponse {
  const budget = { left: withPayloads ? PAYLOADS_BYTES_SHOWN_MAX : 0 };
  const { completedAtMs } = invocation.milestones;
  return {
    id: invocation.facts.id,
    target: targetText(invocation.facts.target),
    status: invocation.status,
    from: timeView(timeline.fromMs),
    to: timeView(timeline.toMs),
    completed_at: optionalTime(completedAtMs),
    wall_ms: timeline.toMs - timeline.fromMs,
    totals_ms: Object.fromEntries(
      Object.entries(timeline.totals).map(([phase, total]) => [PHASES[phase as InvocationPhase], total]),
    ),
    phases: timeline.segments.map(segmentView),
    attempts: timeline.attempts.map((attempt, index) => attemptView(attempt, index, invocation)),
    attempts_may_be_missing: timeline.attemptsMayBeMissing,
    steps: timeline.steps.map((step) => stepView(step, withPayloads, budget)),
    next_step: timeline.nextStep ?? null,
    journal_is_partial: timeline.journalIsPartial,
    ...forkView(invocation.facts),
    ...debounceView(invocation.facts),
  };
}

function forkView({ source, fork }: InvocationFacts): Pick<TimelineResponse, "fork"> {
  if (fork === undefined || source.kind !== "restart") return {};
  return { fork: { forked_from: source.from, forked_at_entry: fork.atEntry, edited_steps: [...fork.editedSteps] } };
}

function debounceView({ debounce }: InvocationFacts): Pick<TimelineResponse, "debounce"> {
  if (debounce === undefined) return {};
  return { debounce: { key: debounce.key, sends: debounce.sendCount, latest_start_at: timeView(debounce.startByMs) } };
}

const WAITS = {
  startTime: "start_time",
  delivery: "delivery",
  lock: "lock",
  slot: "slot",
  notification: "notification",
  retry: "retry",
  resume: "resume",
} as const;

function segmentView({ phase, waitsFor, fromMs, toMs, inferred }: PhaseSegment): TimelineResponse["phases"][number] {
  return {
    phase: PHASES[phase],
    waits_for: waitsFor === undefined ? null : WAITS[waitsFor],
    from: timeView(fromMs),
    to: timeView(toMs),
    duration_ms: toMs - fromMs,
    inferred,
  };
}

function attemptView(
  { startedAtMs, endedAtMs, outcome, failure, inferred }: TimelineAttempt,
  index: number,
  { pinned }: Invocation,
): TimelineResponse["attempts"][number] {
  return {
    number: index + 1,
    from: optionalTime(startedAtMs),
    to: optionalTime(endedAtMs),
    duration_ms: startedAtMs === undefined || endedAtMs === undefined ? null : endedAtMs - startedAtMs,
    deployment_id: pinned?.deploymentId ?? null,
    outcome,
    failure: failure === undefined ? null : failureView(failure),
    inferred,
  };
}

interface Budget {
  left: number;
}

/** Steps with the beginnings of their payloads. */
export function stepViews(steps: readonly JournalStep[]): TimelineResponse["steps"] {
  const budget = { left: PAYLOADS_BYTES_SHOWN_MAX };
  return steps.map((step) => stepView(step, true, budget));
}

/** A payload of its own, as far as it is shown. */
export function payloadViewOf(bytes: Uint8Array): ReturnType<typeof payloadView> {
  return payloadView(bytes, { left: PAYLOADS_BYTES_SHOWN_MAX });
}

function stepView(step: JournalStep, withPayloads: boolean, budget: Budget): TimelineResponse["steps"][number] {
  const { startedAtMs, endedAtMs, result } = step;
  return {
    index: step.index,
    type: step.type,
    name: step.name,
    subject: step.subject,
    from: timeView(startedAtMs),
    to: optionalTime(endedAtMs),
    duration_ms: endedAtMs === undefined ? null : endedAtMs - startedAtMs,
    result: result.kind,
    failure: result.kind === "failure" ? { code: result.code, message: result.message } : null,
    invocation_id: step.callee ?? null,
    bytes: step.payload?.length ?? null,
    result_bytes: step.resultPayload?.length ?? null,
    ...(withPayloads
      ? { payload: payloadView(step.payload, budget), result_payload: payloadView(step.resultPayload, budget) }
      : {}),
  };
}

/** Returns the payload as text when it is UTF-8, else as base64; null when there is none, or the budget of the answer is used up. */
function payloadView(
  bytes: Uint8Array | undefined,
  budget: Budget,
): { text: string; cut: boolean } | { base64: string; cut: boolean } | null {
  if (bytes === undefined || budget.left === 0) return null;
  const shown = bytes.subarray(0, Math.min(PAYLOAD_BYTES_SHOWN_MAX, budget.left));
  budget.left -= shown.length;
  const cut = shown.length < bytes.length;
  if (!isUtf8(bytes)) return { base64: Buffer.from(shown).toString("base64"), cut };
  // A character split by the cut is left out.
  return { text: new TextDecoder().decode(shown, { stream: cut }), cut };
}
