/** The journal with which an invocation continues when its end is undone. */
import { decodeNotification, isFault, MessageType, type NotificationId, notificationIdOf } from "@perdure/service-protocol";
import type { JournalEntry } from "../entry.js";
import type { JournalProgress } from "../invocation.js";

/** Types of frames from here on are notifications. */
const NOTIFICATION_TYPE_MIN = 0x8000;

export function isNotification(entry: JournalEntry): boolean {
  return entry.type >= NOTIFICATION_TYPE_MIN;
}

export function progressOf(entries: readonly JournalEntry[]): JournalProgress {
  let commands = 0;
  let outputIndex = -1;
  for (const [index, entry] of entries.entries()) {
    if (isNotification(entry)) continue;
    commands++;
    if (entry.type === MessageType.Output) outputIndex = index;
  }
  return { length: entries.length, commands, notifications: entries.length - commands, outputIndex, hasEvents: false };
}

/**
 * The journal as it was, with the notifications that arrived since. A bulk kill may reach a callee before its caller, whose journal then
 * ends with "killed" as the callee's result; nothing was done with that result when no command follows it, so it is left out, and the
 * callee is requested again.
 */
export function resumedJournal(
  journal: readonly JournalEntry[],
  arrived: readonly (JournalEntry | undefined)[],
): readonly JournalEntry[] {
  const lastCommand = journal.findLastIndex((entry) => !isNotification(entry));
  const kept = journal.filter((entry, index) => index <= lastCommand || !isKilledCall(entry));
  const answered = answeredIds(kept);
  for (const entry of arrived) {
    if (entry === undefined) continue;
    const id = idText(notificationIdOf(entry.type, entry.body));
    // Of two completions with one id the first counts; signals may come several times.
    if (entry.type !== MessageType.Signal && answered.has(id)) continue;
    answered.add(id);
    kept.push(entry);
  }
  return kept;
}

function isKilledCall(entry: JournalEntry): boolean {
  if (entry.type !== MessageType.CallCompletion && entry.type !== MessageType.AttachInvocationCompletion) return false;
  const decoded = decodeNotification(entry.type, entry.body);
  if (isFault(decoded) || decoded.result.kind !== "failure") return false;
  return decoded.result.failure.code === 409 && decoded.result.failure.message === "killed";
}

/** Texts of the notifications that a journal has. */
export function answeredIds(entries: Iterable<JournalEntry>): Set<string> {
  const ids = new Set<string>();
  for (const entry of entries) if (isNotification(entry)) ids.add(idText(notificationIdOf(entry.type, entry.body)));
  return ids;
}

export function completionText(completionId: number): string {
  return idText({ kind: "completion", id: completionId });
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
