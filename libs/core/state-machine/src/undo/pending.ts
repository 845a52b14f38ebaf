/** What a restored invocation waits for: its sleeps, promises of its key, and the invocations that it called. */
import { type InvocationId, type OperationId, parseInvocationId } from "@perdure/base";
import {
  attachedId,
  decodeCommand,
  decodeNotification,
  encodeNotification,
  isFault,
  type JournalCommand,
  MessageType,
} from "@perdure/service-protocol";
import type { TimerKey } from "../command.js";
import type { JournalEntry } from "../entry.js";
import { resultOf } from "../invocation/outcome.js";
import { generationMark, type Invocation } from "../invocation.js";
import { keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { answeredIds, completionText, isNotification } from "./journal.js";

/** Arms the timers of sleeps that have not ended. One that fired meanwhile fires again at once. */
export function armSleeps(view: PartitionView, id: InvocationId, entries: readonly JournalEntry[], out: Transition): void {
  for (const command of pendingCommands(entries, MessageType.Sleep)) {
    if (command.kind !== "sleep") continue;
    const timer: TimerKey = { dueAtMs: command.wakeUpTimeMs, kind: "sleep", id, sequence: command.resultCompletionId };
    if (view.hasTimer(timer)) continue;
    out.mutate({ kind: "putTimer", timer });
    out.effect({ kind: "armTimer", timer });
  }
}

/** Returns the journal with the results of promises that were completed meanwhile; the others list the invocation again. */
export function awaitPromises(
  view: PartitionView,
  invocation: Invocation,
  entries: readonly JournalEntry[],
  out: Transition,
): readonly JournalEntry[] {
  const { id, target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  const completed: JournalEntry[] = [];
  for (const command of pendingCommands(entries, MessageType.GetPromise)) {
    if (command.kind !== "getPromise") continue;
    const { key: name, resultCompletionId: completionId } = command;
    const promise = view.promise(service, key, name);
    if (promise?.kind === "completed") {
      const body = encodeNotification({ kind: "completion", id: completionId }, resultOf(promise.outcome));
      completed.push({ type: MessageType.GetPromiseCompletion, body, appendedAtMs: out.nowMs });
      continue;
    }
    const listeners = promise?.listeners ?? [];
    const generation = generationMark(invocation.facts);
    if (listeners.some((each) => each.id === id && each.generation === generation && each.completionId === completionId))
      continue;
    const listener = { id, generation, completionId };
    out.mutate({ kind: "putPromise", service, key, name, promise: { kind: "pending", listeners: [...listeners, listener] } });
  }
  return completed.length === 0 ? entries : [...entries, ...completed];
}

/**
 * The kill reached everything that the invocation called, and so does the undo. Calls without a result name their caller again, and so do
 * attachments: the operation may have ended the other invocation too, without a record or before the attachment reached it.
 */
export function undoCallees(
  invocation: Invocation,
  operation: OperationId,
  entries: readonly JournalEntry[],
  out: Transition,
): void {
  const resultIds = new Map<number, number>();
  for (const command of pendingCommands(entries, MessageType.Call)) {
    if (command.kind === "call") resultIds.set(command.invocationIdNotificationIdx, command.resultCompletionId);
  }
  const caller = { callerId: invocation.facts.id, callerGeneration: generationMark(invocation.facts) };
  for (const entry of entries) {
    if (entry.type !== MessageType.CallInvocationIdCompletion) continue;
    const decoded = decodeNotification(entry.type, entry.body);
    if (isFault(decoded) || decoded.result.kind !== "invocationId" || decoded.id.kind !== "completion") continue;
    const callee = parseInvocationId(decoded.result.invocationId);
    if (!callee.ok) continue;
    const completionId = resultIds.get(decoded.id.id);
    const sink = completionId === undefined ? undefined : ({ kind: "call", ...caller, completionId } as const);
    out.send({ kind: "undo", id: callee.value, operation, sink });
  }
  for (const [id, completionIds] of pendingAttaches(entries)) {
    for (const completionId of completionIds)
      out.send({ kind: "undo", id, operation, sink: { kind: "attach", ...caller, completionId } });
  }
}

/** Completions that the invocation waits for because it attached to another one, by the id of that one. */
function pendingAttaches(entries: readonly JournalEntry[]): Map<InvocationId, readonly number[]> {
  const attached = new Map<InvocationId, readonly number[]>();
  for (const command of pendingCommands(entries, MessageType.AttachInvocation)) {
    const id = command.kind === "attachInvocation" ? attachedId(command.target) : undefined;
    if (command.kind !== "attachInvocation" || id === undefined) continue;
    attached.set(id, [...(attached.get(id) ?? []), command.resultCompletionId]);
  }
  return attached;
}

/** Yields the commands of a type whose result the journal does not have. */
function* pendingCommands(entries: readonly JournalEntry[], type: number): Iterable<JournalCommand> {
  const answered = answeredIds(entries);
  for (const entry of entries) {
    if (isNotification(entry) || entry.type !== type) continue;
    const command = decodeCommand(entry.type, entry.body);
    if (isFault(command) || !("resultCompletionId" in command)) continue;
    if (!answered.has(completionText(command.resultCompletionId))) yield command;
  }
}
