/**
 * Schedules as messages of `proto/control/v1/schedules.proto`, and back. Times that follow from a schedule do not travel: the receiver
 * computes them.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type InvocationId, parseInvocationId, parseScheduleId, type ScheduleId } from "@perdure/base";
import {
  type BackfilledTime,
  type CatchUpPolicy,
  type OverlapPolicy,
  type PastFiring,
  type Schedule,
  type ScheduleSpec,
  type ScheduleState,
  type ScheduleTarget,
  timetableOfSpec,
} from "@perdure/schedules";
import * as proto from "../gen/v1/schedules_pb.js";
import { bigOf, given, named, numberOf, refuse, required } from "./checks.js";

export function toSchedule({ record, state }: Schedule): proto.Schedule {
  const { id, version, createdAtMs, modifiedAtMs, ...spec } = record;
  return create(proto.ScheduleSchema, {
    id,
    version: BigInt(version),
    createdAtMs: BigInt(createdAtMs),
    modifiedAtMs: BigInt(modifiedAtMs),
    spec: toSpec(spec),
    state: toState(state),
  });
}

export function fromSchedule(message: proto.Schedule | undefined): Schedule {
  const { id, version, createdAtMs, modifiedAtMs, spec, state } = required(message, "a schedule");
  const record = {
    ...fromSpec(spec),
    id: checkedScheduleId(id),
    version: Number(version),
    createdAtMs: Number(createdAtMs),
    modifiedAtMs: Number(modifiedAtMs),
  };
  const times = timetableOfSpec(record);
  if (!times.ok) return refuse(`the ${times.field} of the schedule '${id}'`, times.reason);
  return { record, state: fromState(required(state, "the state of a schedule")), times: times.value };
}

// ── specification ────────────────────────────────────────────────────────────────────────────────

export function toSpec(spec: ScheduleSpec): proto.ScheduleSpec {
  const { payload, target } = spec;
  return create(proto.ScheduleSpecSchema, {
    name: spec.name,
    cron: spec.cron,
    zone: spec.zone,
    jitterMs: spec.jitterMs,
    headers: { ...spec.headers },
    target: toTarget(target),
    payload: { base64: payload.base64, ...given("contentType", payload.contentType) },
    overlap: toOverlap(spec.overlap),
    catchUp: toCatchUp(spec.catchUp),
    ...given("description", spec.description),
    ...given("startAtMs", bigOf(spec.startAtMs)),
    ...given("endAtMs", bigOf(spec.endAtMs)),
    ...given("firingsMax", bigOf(spec.firingsMax)),
  });
}

export function fromSpec(message: proto.ScheduleSpec | undefined): ScheduleSpec {
  const spec = required(message, "the specification of a schedule");
  const payload = required(spec.payload, "the payload of a schedule");
  return {
    name: spec.name,
    description: spec.description,
    cron: spec.cron,
    zone: spec.zone,
    jitterMs: spec.jitterMs,
    startAtMs: numberOf(spec.startAtMs),
    endAtMs: numberOf(spec.endAtMs),
    firingsMax: numberOf(spec.firingsMax),
    target: fromTarget(required(spec.target, "the target of a schedule")),
    payload: { contentType: payload.contentType, base64: payload.base64 },
    headers: spec.headers,
    overlap: fromOverlap(spec.overlap),
    catchUp: fromCatchUp(spec.catchUp),
  };
}

function toTarget(target: ScheduleTarget): MessageInitShape<typeof proto.ScheduleTargetSchema> {
  const { service, handler, key, scope, limitKey, priority } = target;
  const optional = { ...given("key", key), ...given("scope", scope), ...given("limitKey", limitKey) };
  return { service, handler, ...optional, ...given("priority", priority) };
}

function fromTarget({ service, handler, key, scope, limitKey, priority }: proto.ScheduleTarget): ScheduleTarget {
  return { service, handler, key, scope, limitKey, priority };
}

function toOverlap(policy: OverlapPolicy): MessageInitShape<typeof proto.OverlapPolicySchema> {
  if (policy.kind === "queue") return { policy: { case: "queue", value: { max: BigInt(policy.max) } } };
  return { policy: { case: policy.kind, value: {} } };
}

function fromOverlap(message: proto.OverlapPolicy | undefined): OverlapPolicy {
  const policy = message?.policy;
  switch (policy?.case) {
    case "queue":
      return { kind: "queue", max: Number(policy.value.max) };
    case "skip":
    case "cancelPrevious":
    case "allow":
      return { kind: policy.case };
    default:
      return refuse("the overlap policy of a schedule", policy?.case);
  }
}

function toCatchUp(policy: CatchUpPolicy): MessageInitShape<typeof proto.CatchUpPolicySchema> {
  if (policy.kind !== "all") return { policy: { case: policy.kind, value: {} } };
  return { policy: { case: "all", value: { max: BigInt(policy.max), windowMs: policy.windowMs } } };
}

function fromCatchUp(message: proto.CatchUpPolicy | undefined): CatchUpPolicy {
  const policy = message?.policy;
  switch (policy?.case) {
    case "all":
      return { kind: "all", max: Number(policy.value.max), windowMs: policy.value.windowMs };
    case "none":
    case "last":
      return { kind: policy.case };
    default:
      return refuse("the catch-up policy of a schedule", policy?.case);
  }
}

// ── how far it has come ──────────────────────────────────────────────────────────────────────────

function toState(state: ScheduleState): MessageInitShape<typeof proto.ScheduleStateSchema> {
  const { active, lastFired } = state;
  return {
    isPaused: state.isPaused,
    decidedThroughMs: BigInt(state.decidedThroughMs),
    queue: state.queue.map(BigInt),
    firedCount: BigInt(state.firedCount),
    manualCount: BigInt(state.manualCount),
    skippedCount: BigInt(state.skippedCount),
    failedCount: BigInt(state.failedCount),
    missedCount: BigInt(state.missedCount),
    recent: state.recent.map(toFiring),
    ...given("active", active && { invocationId: active.invocationId, nominalMs: BigInt(active.nominalMs) }),
    ...given("lastFired", lastFired && toFiring(lastFired)),
  };
}

function fromState(state: proto.ScheduleState): ScheduleState {
  const { active, lastFired } = state;
  return {
    isPaused: state.isPaused,
    decidedThroughMs: Number(state.decidedThroughMs),
    active: active && { invocationId: checkedInvocationId(active.invocationId), nominalMs: Number(active.nominalMs) },
    queue: state.queue.map(Number),
    firedCount: Number(state.firedCount),
    manualCount: Number(state.manualCount),
    skippedCount: Number(state.skippedCount),
    failedCount: Number(state.failedCount),
    missedCount: Number(state.missedCount),
    lastFired: lastFired && fromFiring(lastFired),
    recent: state.recent.map(fromFiring),
  };
}

const OUTCOMES: Readonly<Record<PastFiring["outcome"], proto.PastFiring_Outcome>> = {
  fired: proto.PastFiring_Outcome.FIRED,
  failed: proto.PastFiring_Outcome.FAILED,
  skipped: proto.PastFiring_Outcome.SKIPPED,
  missed: proto.PastFiring_Outcome.MISSED,
};

const CAUSES: Readonly<Record<NonNullable<PastFiring["cause"]>, proto.PastFiring_Cause>> = {
  due: proto.PastFiring_Cause.DUE,
  queued: proto.PastFiring_Cause.QUEUED,
  caughtUp: proto.PastFiring_Cause.CAUGHT_UP,
  manual: proto.PastFiring_Cause.MANUAL,
};

function toFiring(firing: PastFiring): MessageInitShape<typeof proto.PastFiringSchema> {
  const { outcome, cause, nominalMs, atMs, invocationId, detail, count } = firing;
  return {
    outcome: OUTCOMES[outcome],
    cause: cause === undefined ? proto.PastFiring_Cause.UNSPECIFIED : CAUSES[cause],
    nominalMs: BigInt(nominalMs),
    atMs: BigInt(atMs),
    count: BigInt(count),
    ...given("invocationId", invocationId),
    ...given("detail", detail),
  };
}

function fromFiring({ outcome, cause, nominalMs, atMs, invocationId, detail, count }: proto.PastFiring): PastFiring {
  return {
    outcome: named(OUTCOMES, outcome, "the outcome of a firing"),
    cause: cause === proto.PastFiring_Cause.UNSPECIFIED ? undefined : named(CAUSES, cause, "the cause of a firing"),
    nominalMs: Number(nominalMs),
    atMs: Number(atMs),
    invocationId: invocationId === undefined ? undefined : checkedInvocationId(invocationId),
    detail,
    count: Number(count),
  };
}

// ── backfill ─────────────────────────────────────────────────────────────────────────────────────

const BACKFILL_OUTCOMES: Readonly<Record<BackfilledTime["outcome"], proto.BackfilledTime_Outcome>> = {
  new: proto.BackfilledTime_Outcome.NEW,
  alreadyRan: proto.BackfilledTime_Outcome.ALREADY_RAN,
  failed: proto.BackfilledTime_Outcome.FAILED,
};

export function toBackfilled({ nominalMs, outcome, invocationId, detail }: BackfilledTime) {
  return { nominalMs: BigInt(nominalMs), outcome: BACKFILL_OUTCOMES[outcome], invocationId, ...given("detail", detail) };
}

export function fromBackfilled({ nominalMs, outcome, invocationId, detail }: proto.BackfilledTime): BackfilledTime {
  return {
    nominalMs: Number(nominalMs),
    outcome: named(BACKFILL_OUTCOMES, outcome, "the outcome of a backfilled time"),
    invocationId: checkedInvocationId(invocationId),
    detail,
  };
}

// ── checks ───────────────────────────────────────────────────────────────────────────────────────

/** Throws OPS0003 when the text is not the id of a schedule. */
export function checkedScheduleId(text: string): ScheduleId {
  const parsed = parseScheduleId(text);
  return parsed.ok ? parsed.value : refuse("the id of a schedule", text);
}

/** Throws OPS0003 when the text is not an invocation id. */
export function checkedInvocationId(text: string): InvocationId {
  const parsed = parseInvocationId(text);
  return parsed.ok ? parsed.value : refuse("an invocation id", text);
}
