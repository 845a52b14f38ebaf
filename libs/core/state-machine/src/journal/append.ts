/**
 * Appends to journals: commands of handlers, and notifications of the partition. Entries are stored in their wire form, indexes are
 * dense, and nothing stored is ever changed.
 */

import { invariant } from "@perdure/base";
import {
  cancelSignalIndex,
  encodeNotification,
  MessageType,
  type NotificationId,
  narrowFuture,
  notificationIdOf,
  notificationOutcomeOf,
  type ResultValue,
} from "@perdure/service-protocol";
import type { Notify } from "../command.js";
import type { EntryStored } from "../effect.js";
import type { JournalEntry } from "../entry.js";
import { wake } from "../invocation/start.js";
import type { Invocation, Invoked, JournalProgress } from "../invocation.js";
import { generationMark, takesCompletions } from "../invocation.js";
import type { Transition } from "../transition.js";
import { keepDeferredCompletion } from "../undo/deferred.js";
import type { PartitionView } from "../view.js";

const NO_DELIVERY: EntryStored["delivery"] = Object.freeze({ kind: "nothing" });
const PUSH: EntryStored["delivery"] = Object.freeze({ kind: "push", thenAck: undefined });

/** Stores a journal command of a running invocation; returns the invocation with its new counters. */
export function appendJournalCommand(
  out: Transition,
  invocation: Invoked,
  type: number,
  body: Uint8Array,
  delivery: EntryStored["delivery"] = NO_DELIVERY,
): Invoked {
  const entry: JournalEntry = { type, body, appendedAtMs: out.nowMs };
  const index = invocation.journal.length;
  const journal: JournalProgress = {
    length: index + 1,
    commands: invocation.journal.commands + 1,
    notifications: invocation.journal.notifications,
    outputIndex: type === MessageType.Output ? index : invocation.journal.outputIndex,
    hasEvents: invocation.journal.hasEvents,
  };
  out.mutate({ kind: "appendEntry", id: invocation.facts.id, index, entry });
  const next: Invoked = { ...invocation, journal, modifiedAtMs: out.nowMs };
  out.mutate({ kind: "putInvocation", invocation: next });
  out.effect({ kind: "entryStored", id: invocation.facts.id, run: invocation.run, index, entry, delivery });
  return next;
}

/**
 * Stores a notification and resumes the invocation if it awaits the notification. In-flight invocations push it to their attempt,
 * resume or just keep it (in a scope with rules they wait for a slot first); scheduled and inboxed ones keep it for their first
 * attempt; completed ones drop it.
 */
export function appendNotification(
  view: PartitionView,
  out: Transition,
  invocation: Invocation,
  type: number,
  body: Uint8Array,
  delivery: EntryStored["delivery"] = PUSH,
): Invocation {
  if (invocation.status === "completed") return invocation;
  const entry: JournalEntry = { type, body, appendedAtMs: out.nowMs };
  const id = invocation.facts.id;
  const index = invocation.journal.length;
  out.mutate({ kind: "appendEntry", id, index, entry });
  const journal: JournalProgress = {
    length: index + 1,
    commands: invocation.journal.commands,
    notifications: invocation.journal.notifications + 1,
    outputIndex: invocation.journal.outputIndex,
    hasEvents: invocation.journal.hasEvents,
  };
  if (invocation.status === "suspended") {
    const stored = notificationFacts(type, body);
    const awaited = narrowFuture(invocation.awaiting, stored.id, stored.outcome);
    const moved = { ...invocation, journal, modifiedAtMs: out.nowMs };
    if (awaited.kind === "resolved") return wake(view, moved, out);
    const next: Invocation = { ...moved, awaiting: awaited.remaining };
    out.mutate({ kind: "putInvocation", invocation: next });
    return next;
  }
  const next: Invocation = { ...invocation, journal, modifiedAtMs: out.nowMs };
  out.mutate({ kind: "putInvocation", invocation: next });
  if (next.status === "invoked") out.effect({ kind: "entryStored", id, run: next.run, index, entry, delivery });
  return next;
}

/** Stores a completion of one of the invocation's own commands in the turn of the command itself. */
export function completeAtOnce(
  view: PartitionView,
  out: Transition,
  invocation: Invocation,
  type: number,
  completionId: number,
  result: CompletionResult,
  thenAck?: number,
): Invocation {
  const body = encodeNotification({ kind: "completion", id: completionId }, result);
  return appendNotification(view, out, invocation, type, body, thenAck === undefined ? PUSH : { kind: "push", thenAck });
}

type CompletionResult = Parameters<typeof encodeNotification>[1];

/** Returns the id and outcome of a stored notification. */
export function notificationFacts(type: number, body: Uint8Array): { id: NotificationId; outcome: "success" | "failure" } {
  return { id: notificationIdOf(type, body), outcome: notificationOutcomeOf(body) };
}

/**
 * The newest `count` notifications of a journal, as a look-up of awaited ids. Walks backwards, so it reads only the notifications that
 * the attempt has not received and the commands in between.
 */
export function newestNotifications(
  view: PartitionView,
  invocation: Invocation,
  count: number,
): (id: NotificationId) => "success" | "failure" | undefined {
  const outcomes = new Map<string, "success" | "failure">();
  for (let index = invocation.journal.length - 1, left = count; left > 0 && index >= 0; index--) {
    const entry = view.entry(invocation.facts.id, index);
    invariant(entry !== undefined, "a journal has no holes");
    if (entry.type < 0x8000) continue;
    const facts = notificationFacts(entry.type, entry.body);
    outcomes.set(idText(facts.id), facts.outcome);
    left--;
  }
  return (id) => outcomes.get(idText(id));
}

function idText(id: NotificationId): string {
  switch (id.kind) {
    case "completion":
      return `c${id.id}`;
    case "signalIndex":
      return `i${id.index}`;
    case "signalName":
      return `n${id.name}`;
  }
}

/** Stores a completion that was computed elsewhere. */
export function notify(view: PartitionView, command: Notify, out: Transition): void {
  const invocation = view.invocation(command.id);
  // Completed, killed or purged meanwhile: no invocation waits, unless its end is undone.
  if (!takesCompletions(invocation)) return keepDeferredCompletion(view, command, out);
  // The id was used again; the generation that waited is gone.
  if (command.generation !== undefined && command.generation !== generationMark(invocation.facts)) return;
  if (command.endedBy !== undefined && view.undo?.note(command.id, command.endedBy) !== undefined) return;
  if (command.mayRepeat === true && isAnswered(view, invocation, notificationIdOf(command.type, command.body))) return;
  appendNotification(view, out, invocation, command.type, command.body);
}

/** Whether the journal has this notification already. */
function isAnswered(view: PartitionView, { facts, journal }: Invocation, id: NotificationId): boolean {
  const text = idText(id);
  return view
    .journalOf(facts.id, journal.length)
    .some((entry) => entry !== undefined && entry.type >= 0x8000 && idText(notificationIdOf(entry.type, entry.body)) === text);
}

/**
 * Stores a signal. Signals may arrive before the handler starts; they wait in the journal. A paused invocation keeps them too, but a
 * cancellation resumes it with a fresh retry budget, so that its compensations run now (service-protocol.md §7.1; so does the
 * reference).
 */
export function storeSignal(
  view: PartitionView,
  out: Transition,
  invocation: Invocation,
  signal: Exclude<NotificationId, { kind: "completion" }>,
  result: ResultValue,
): void {
  const stored = appendNotification(view, out, invocation, MessageType.Signal, encodeNotification(signal, result));
  const cancels = signal.kind === "signalIndex" && signal.index === cancelSignalIndex;
  if (cancels && stored.status === "paused") wake(view, stored, out);
}
