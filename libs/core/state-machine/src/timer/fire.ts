/**
 * Handles a timer that is due. Timers fire at least once (a new leader arms every stored timer again), so a timer that is no longer
 * stored is a duplicate firing and changes nothing.
 */

import { invariant, unreachable } from "@perdure/base";
import {
  decodeCommand,
  encodeNotification,
  isFault,
  MessageType,
  resultCompletionIdOf,
  voidResult,
} from "@perdure/service-protocol";
import type { TimerFired, TimerKey } from "../command.js";
import { deleteRetentionTimers, dropJournal, free } from "../invocation/outcome.js";
import { begin } from "../invocation/start.js";
import { endThrottlePeriod, isThrottleTimer } from "../invocation/throttle.js";
import { generationMark, type Invocation, takesCompletions } from "../invocation.js";
import { appendNotification } from "../journal/append.js";
import { fireStateTimer } from "../state/expiry.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

export function fireTimer(view: PartitionView, command: TimerFired, out: Transition): void {
  const { timer } = command;
  if (!view.hasTimer(timer)) return;
  out.mutate({ kind: "deleteTimer", timer });
  if (isThrottleTimer(timer)) return endThrottlePeriod(view, timer, out);
  if (timer.kind === "expireState") return fireStateTimer(view, timer, out);
  const invocation = view.invocation(timer.id);
  switch (timer.kind) {
    case "sleep":
      if (!takesCompletions(invocation)) return; // Completed, killed or purged meanwhile: no invocation waits.
      // The sleep belongs to a former generation.
      if (generationMark(invocation.facts) !== undefined && !sleepsUntil(view, invocation, timer)) return;
      appendNotification(
        view,
        out,
        invocation,
        MessageType.SleepCompletion,
        encodeNotification({ kind: "completion", id: timer.sequence }, voidResult),
      );
      return;
    case "start":
      if (invocation?.status === "scheduled") begin(view, invocation, undefined, out);
      return;
    case "purge":
      if (invocation?.status !== "completed") return;
      // Both are deleted when the first one fires: the other must not fire for the next generation of the id.
      deleteRetentionTimers(invocation, out);
      free(view, invocation, out);
      return;
    case "purgeJournal":
      if (invocation?.status === "completed" && invocation.journal.length > 0) dropJournal(invocation, out);
      return;
    default:
      return unreachable(timer.kind);
  }
}

/** Whether this generation made the sleep. */
function sleepsUntil(view: PartitionView, { facts, journal }: Invocation, timer: TimerKey): boolean {
  for (const index of likelyIndexes(journal.length, timer.sequence)) {
    const entry = view.entry(facts.id, index);
    invariant(entry !== undefined, "a journal has no holes");
    if (entry.type !== MessageType.Sleep || resultCompletionIdOf(entry.type, entry.body) !== timer.sequence) continue;
    const command = decodeCommand(entry.type, entry.body);
    return !isFault(command) && command.kind === "sleep" && command.wakeUpTimeMs === timer.dueAtMs;
  }
  return false;
}

/**
 * Yields every index of a journal except that of its input, likely places first. It starts at the newest, because a sleeping invocation
 * has mostly done nothing since, and alternates with the indexes around the place at which a command with this completion id stands if
 * each entry before it has one: of thousands of sleeps that were made together each is found there, without a search through all the
 * others.
 */
function* likelyIndexes(length: number, completionId: number): Iterable<number> {
  let newest = length - 1;
  let before = Math.min(completionId, newest);
  let behind = before + 1;
  while (before > 0 || behind <= newest) {
    if (behind <= newest) yield newest--;
    if (before > 0) yield before--;
    if (behind <= newest) yield behind++;
  }
}
