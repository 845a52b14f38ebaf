/** Explanations in the notation of the management API: snake case, RFC 3339 times, milliseconds. */
import type { ExplanationShape, TimelineShape } from "@perdure/admin-contract";
import { formatTimestampNanos, type InvocationId, unreachable } from "@perdure/base";
import {
  type Awaited,
  type AwaitLeaf,
  type ChainLink,
  type Explanation,
  type FlowFacts,
  leafText,
  ownSentence,
  remediesOf,
  type Situation,
  sentenceOf,
  type Wait,
} from "@perdure/diagnostics";
import { journalCommandName } from "@perdure/service-protocol";
import { type AttemptError, type Debounce, targetText } from "@perdure/state-machine";
import type { ViewOf } from "./response.js";

/** The longest time that can be printed (ECMAScript's last date). */
const LATEST_MS = 8_640_000_000_000_000;

export function explanationView(explanation: Explanation, nowMs: number): ViewOf<typeof ExplanationShape> {
  const { situation, chain, chainIsCut, deadlock } = explanation;
  const others = new Map(chain.map((link) => [link.id, link]));
  const last = chain.at(-1);
  return {
    ...situationView(situation, nowMs, others),
    at: timeView(nowMs),
    sentence: sentenceOf(explanation, nowMs),
    chain: chain.slice(1).map((link) => linkView(link, nowMs, others)),
    chain_is_cut: chainIsCut,
    blocked_by: chain.length > 1 && last !== undefined ? { relation: relationLabel(last), id: last.id } : null,
    deadlock: deadlock === undefined ? null : { invocations: deadlock.ids, certain: deadlock.isCertain },
    remedies: remediesOf(explanation),
  };
}

type Others = ReadonlyMap<InvocationId, ChainLink>;

function situationView(situation: Situation, nowMs: number, others: Others) {
  const { id, invocation, status, wait, sinceMs, route, journalIsPartial } = situation;
  return {
    id,
    target: targetText(invocation.facts.target),
    status,
    since: timeView(sinceMs),
    for_ms: Math.max(0, nowMs - sinceMs),
    sentence: ownSentence(situation, nowMs),
    waits_for: waitView(wait, nowMs, others),
    deployment: { id: route.deploymentId ?? null, state: ROUTE_STATES[route.kind], pinned: route.isPinned },
    journal_is_partial: journalIsPartial,
  };
}

const ROUTE_STATES = { found: "found", gone: "gone", noService: "no_service", handlerRemoved: "handler_removed" } as const;

function linkView(link: ChainLink, nowMs: number, others: Others): ViewOf<typeof ExplanationShape>["chain"][number] {
  const relation = relationLabel(link);
  if (link.situation === undefined) return { relation, id: link.id, target: null, status: "absent" };
  return { relation, ...situationView(link.situation, nowMs, others) };
}

function relationLabel({ relation }: ChainLink): string {
  return relation === "lockHolder" ? "lock_holder" : relation;
}

function debounceView(debounce: Debounce | undefined) {
  if (debounce === undefined) return null;
  return { key: debounce.key, sends: debounce.sendCount, latest_start_at: timeView(debounce.startByMs) };
}

function waitView(wait: Wait, nowMs: number, others: Others): ViewOf<typeof ExplanationShape>["waits_for"] {
  switch (wait.kind) {
    case "completed": {
      const { outcome, expiresAtMs } = wait;
      const failure = outcome.kind === "failure" ? { code: outcome.failure.code, message: outcome.failure.message } : null;
      return { kind: "nothing", result: outcome.kind, failure, forgotten_at: optionalTime(expiresAtMs) };
    }
    case "delayedStart":
      return { kind: "delayed_start", starts_at: timeView(wait.startsAtMs), debounce: debounceView(wait.debounce) };
    case "objectLock": {
      const { service, key, lock } = wait;
      const holder = lock.holder === undefined ? null : briefView(lock.holder, others);
      const place = { place: lock.ahead + 1, place_is_least: lock.aheadIsLeast };
      return { kind: "object_lock", service, key, holder, queue_is_paused: lock.isPaused, ...place };
    }
    case "limit":
      return limitView(wait.flow);
    case "invokerSlot":
      return { kind: "invoker_slot" };
    case "running":
      return {
        kind: wait.awaiting === undefined ? "handler" : "future",
        attempt: wait.attempt,
        pause_requested: wait.pauseRequested,
        deployment_id: wait.deploymentId ?? null,
        last_step:
          wait.lastStep === undefined
            ? null
            : { index: wait.lastStep.index, type: wait.lastStep.type, name: wait.lastStep.name, subject: wait.lastStep.subject },
        endpoint_answer: wait.endpointAnswer ?? null,
        awaiting: wait.awaiting === undefined ? null : awaitedView(wait.awaiting, nowMs, others),
        open: wait.open.map((leaf) => leafView(leaf, nowMs, others)),
      };
    case "retry":
      return {
        kind: "retry",
        next_at: optionalTime(wait.nextAtMs),
        attempts: wait.attempts,
        attempts_left: wait.attemptsLeft ?? null,
        on_exhausted: wait.onExhausted ?? null,
        failure: wait.failure === undefined ? null : failureView(wait.failure),
      };
    case "awaiting":
      return { kind: "future", awaiting: awaitedView(wait.awaiting, nowMs, others) };
    case "paused":
      return {
        kind: "resume",
        paused: wait.failure === undefined ? "on_request" : "after_failure",
        failure: wait.failure === undefined ? null : failureView(wait.failure),
      };
    default:
      return unreachable(wait);
  }
}

function limitView({ scope, limitKey, levels, isQueuePaused, place }: FlowFacts): ViewOf<typeof ExplanationShape>["waits_for"] {
  return {
    kind: isQueuePaused ? "paused_queue" : "limit",
    scope,
    limit_key: limitKey ?? null,
    place: place ?? null,
    levels: levels.map((level) => ({
      name: level.name,
      rule: level.rule ?? null,
      used: level.used,
      limit: level.limit ?? null,
      waiting: level.waiting,
      next_at: optionalTime(level.nextAtMs),
      is_full: level.isFull,
    })),
  };
}

const MODES = { any: "any", all: "all", firstSuccess: "first_success", allSuccess: "all_success" } as const;

function awaitedView(awaited: Awaited, nowMs: number, others: Others): object {
  if (awaited.kind !== "node") return leafView(awaited, nowMs, others);
  return {
    wants: MODES[awaited.mode],
    of: awaited.children.map((child) => awaitedView(child, nowMs, others)),
    left_out: awaited.leftOut,
  };
}

function leafView(leaf: AwaitLeaf, nowMs: number, others: Others): object {
  const says = leafText(leaf, nowMs);
  switch (leaf.kind) {
    case "timer":
      return { kind: "timer", index: leaf.step, name: leaf.name, fires_at: timeView(leaf.firesAtMs), says };
    case "call":
    case "attach": {
      const invocation = leaf.id === undefined ? null : briefView(leaf.id, others);
      return { kind: leaf.kind, index: leaf.step, target: leaf.target, invocation, says };
    }
    case "promise":
      return { kind: "promise", index: leaf.step, name: leaf.name, says };
    case "run":
      return { kind: "run", index: leaf.step, name: leaf.name, says };
    case "answer":
      return { kind: "answer", index: leaf.step, type: leaf.type, says };
    case "awakeable":
      return { kind: "awakeable", id: leaf.id, says };
    case "signal":
      return { kind: "signal", name: leaf.name, says };
    case "cancellation":
      return { kind: "cancellation", says };
    case "unknown":
      return { kind: "unknown", completion_id: leaf.completionId, says };
    default:
      return unreachable(leaf);
  }
}

/** View of another invocation: complete when it is on the chain, only the id otherwise. */
function briefView(id: InvocationId, others: Others): object {
  const situation = others.get(id)?.situation;
  if (situation === undefined) return { id };
  const { invocation, status, sinceMs } = situation;
  return { id, target: targetText(invocation.facts.target), status, since: timeView(sinceMs) };
}

export function failureView(error: AttemptError): NonNullable<ViewOf<typeof TimelineShape>["attempts"][number]["failure"]> {
  const { relatedCommandIndex: index, relatedCommandName: name, relatedCommandType: type } = error;
  return {
    restate_code: error.errorCode,
    doc: `perdure errors ${error.errorCode}`,
    code: error.code,
    message: error.message,
    command:
      index === undefined && type === undefined
        ? null
        : { index: index ?? null, name: name ?? null, type: type === undefined ? null : journalCommandName(type) },
  };
}

/** Times from users may be beyond the last date. */
export function timeView(ms: number): string {
  return formatTimestampNanos(Math.floor(Math.min(Math.max(ms, 0), LATEST_MS)));
}

export function optionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : timeView(ms);
}
