/**
 * One exclusive handler per key at a time, others in order of arrival. The queue is a range of sequence numbers
 * `[head, tail)` in the lock's own row; what was cancelled leaves a hole that is stepped over.
 */
import { type InvocationId, invariant } from "@perdure/base";
import { startRun } from "../invocation/start.js";
import type { InboxEntry, ObjectLock } from "../mutation.js";
import { replaceState } from "../state/replace.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

export type Seat = { readonly kind: "locked" } | { readonly kind: "queued"; readonly seq: number };

/** Takes the lock for an invocation, or queues the entry when somebody holds it. */
export function takeLockOrQueue(
  view: PartitionView,
  service: string,
  key: string,
  entry: InboxEntry & { kind: "invocation" },
  out: Transition,
): Seat {
  const lock = view.lock(service, key);
  if (lock === undefined) {
    out.mutate({ kind: "putLock", service, key, lock: { holder: entry.id, head: 0, tail: 0 } });
    return { kind: "locked" };
  }
  return { kind: "queued", seq: queue(service, key, lock, entry, out) };
}

/** Appends to the queue of a held lock. */
export function queue(service: string, key: string, lock: ObjectLock, entry: InboxEntry, out: Transition): number {
  const seq = lock.tail;
  out.mutate({ kind: "putInbox", service, key, seq, entry });
  out.mutate({ kind: "putLock", service, key, lock: { holder: lock.holder, head: lock.head, tail: seq + 1 } });
  return seq;
}

/** The holder is done: apply queued state edits and hand the lock to the next invocation in line. */
export function releaseLock(view: PartitionView, service: string, key: string, holder: InvocationId, out: Transition): void {
  const lock = view.lock(service, key);
  invariant(lock !== undefined && lock.holder === holder, "only the holder releases an object's lock");
  for (let seq = lock.head; seq < lock.tail; seq++) {
    const entry = view.inbox(service, key, seq);
    if (entry === undefined) continue; // Cancelled while it waited.
    out.mutate({ kind: "deleteInbox", service, key, seq });
    if (entry.kind === "stateMutation") {
      replaceState(view, service, key, entry.expectedVersion, entry.entries, out);
      continue;
    }
    const next = view.invocation(entry.id);
    invariant(next !== undefined && next.status === "inboxed", "an inbox entry names an inboxed invocation");
    out.mutate({ kind: "putLock", service, key, lock: { holder: entry.id, head: seq + 1, tail: lock.tail } });
    startRun(out, next, undefined);
    return;
  }
  out.mutate({ kind: "deleteLock", service, key });
}
