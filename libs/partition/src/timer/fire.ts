/**
 * A timer is due. Timers fire at least once (a new leader finds them stored and arms them again), so a timer that is
 * gone from the store is a duplicate firing and changes nothing.
 */

import { unreachable } from "@perdure/base";
import { encodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import type { TimerFired } from "../command.js";
import { dropJournal, free } from "../invocation/outcome.js";
import { begin } from "../invocation/start.js";
import { isInFlight } from "../invocation.js";
import { appendNotification } from "../journal/append.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

export function fireTimer(view: PartitionView, command: TimerFired, out: Transition): void {
  const { timer } = command;
  if (!view.hasTimer(timer)) return;
  out.mutate({ kind: "deleteTimer", timer });
  const invocation = view.invocation(timer.id);
  switch (timer.kind) {
    case "sleep":
      if (!isInFlight(invocation)) return; // Completed, killed or purged meanwhile: nobody waits.
      appendNotification(
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
      if (invocation?.status === "completed") free(view, invocation, out);
      return;
    case "purgeJournal":
      if (invocation?.status === "completed" && invocation.journal.length > 0) dropJournal(invocation, out);
      return;
    default:
      return unreachable(timer.kind);
  }
}
