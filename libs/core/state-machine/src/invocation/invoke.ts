/** Creates an invocation, or attaches to the existing one with the same id. */
import { MessageType } from "@perdure/service-protocol";
import type { Invoke } from "../command.js";
import type { JournalEntry } from "../entry.js";
import type { Invocation, JournalProgress, Milestones, Scheduled, Sink } from "../invocation.js";
import { isWorkflowRun } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { beginBurst, isDebounced, joinBurst } from "./debounce.js";
import { addSink, notifySink } from "./outcome.js";
import { begin } from "./start.js";
import { admitThrottled } from "./throttle.js";

const INPUT_ONLY: JournalProgress = Object.freeze({
  length: 1,
  commands: 1,
  notifications: 0,
  outputIndex: -1,
  hasEvents: false,
});
const NO_MILESTONES: Milestones = Object.freeze({
  scheduledAtMs: undefined,
  inboxedAtMs: undefined,
  runningAtMs: undefined,
  completedAtMs: undefined,
  moves: undefined,
  restoredAtMs: undefined,
});
const NO_SINKS: readonly Sink[] = Object.freeze([]);

const ALREADY_INVOKED = { code: 409, message: "the workflow method was already invoked", metadata: [] } as const;

export function invoke(view: PartitionView, command: Invoke, out: Transition): void {
  const existing = mayExist(command) ? view.invocation(command.id) : undefined;
  if (existing !== undefined) return meetExisting(existing, command, out);
  if (!admitThrottled(view, command, out)) return;

  let { facts } = command;
  if (isDebounced(facts)) {
    if (joinBurst(view, { ...command, facts }, out)) return;
    facts = beginBurst(view, facts, out);
  }
  const startAtMs = facts.executionTimeMs ?? 0;
  const delayed = startAtMs > out.nowMs;
  const fresh: Scheduled = {
    status: "scheduled",
    facts,
    modifiedAtMs: out.nowMs,
    run: 0,
    pinned: undefined,
    journal: INPUT_ONLY,
    sinks: command.sink === undefined ? NO_SINKS : [command.sink],
    milestones: delayed ? { ...NO_MILESTONES, scheduledAtMs: out.nowMs } : NO_MILESTONES,
  };
  const input: JournalEntry = { type: MessageType.Input, body: command.input, appendedAtMs: out.nowMs };
  out.mutate({ kind: "appendEntry", id: command.id, index: 0, entry: input });
  if (delayed) {
    out.mutate({ kind: "putInvocation", invocation: fresh });
    const timer = { dueAtMs: startAtMs, kind: "start", id: command.id, sequence: 0 } as const;
    out.mutate({ kind: "putTimer", timer });
    out.effect({ kind: "armTimer", timer });
  } else {
    begin(view, fresh, [input], out);
  }
  const answer = isDebounced(facts)
    ? ({ kind: "previouslyAccepted", invocation: fresh } as const) // The caller reports the start that was decided here.
    : ({ kind: "accepted" } as const);
  out.effect({ kind: "reply", answer });
}

/**
 * A random id that is submitted for the first time cannot exist, so it is not looked up: two reads less for most invocations. Messages
 * between partitions are deduplicated before they come here.
 */
function mayExist(command: Invoke): boolean {
  const { idempotencyKey, target } = command.facts;
  return idempotencyKey !== undefined || command.resubmission === true || isWorkflowRun(target);
}

/** Resubmission by the same sender, an idempotent duplicate, or a second run of a workflow key. */
function meetExisting(existing: Invocation, command: Invoke, out: Transition): void {
  const resubmitted = command.facts.requestId !== 0 && command.facts.requestId === existing.facts.requestId;
  out.effect({
    kind: "reply",
    answer: resubmitted ? { kind: "accepted" } : { kind: "previouslyAccepted", invocation: existing },
  });
  // A caller that submits again may have missed the outcome, which "accepted" does not carry.
  if (resubmitted && existing.status === "completed") out.effect({ kind: "announce", id: command.id, outcome: existing.outcome });
  if (command.sink === undefined) return;
  if (isWorkflowRun(existing.facts.target)) {
    return notifySink(out, command.sink, { kind: "failure", failure: ALREADY_INVOKED, stacktrace: undefined });
  }
  addSink(existing, command.sink, out);
}
