/**
 * The scheduler admits an invocation. It has counted the slot as used since it submitted this command, and an effect reports whether
 * the slot is used; the new fill of the buckets becomes durable with the start itself, so that no crash resets a bucket.
 */
import type { Admit } from "../command.js";
import { startRun } from "../invocation/start.js";
import type { Inboxed, Invocation, Ready } from "../invocation.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { isScopePaused } from "./queue.js";

export function admit(view: PartitionView, command: Admit, out: Transition): void {
  const invocation = view.invocation(command.id);
  if (!waitsForSlot(invocation) || isScopePaused(view, invocation.facts)) {
    return out.effect({ kind: "slotUnused", id: command.id });
  }
  for (const bucket of command.buckets) out.mutate({ kind: "putBucket", bucket });
  startRun(out, invocation, undefined);
}

export function waitsForSlot(invocation: Invocation | undefined): invocation is Inboxed | Ready {
  if (invocation === undefined) return false;
  return invocation.status === "ready" || (invocation.status === "inboxed" && invocation.waitsFor === "slot");
}
