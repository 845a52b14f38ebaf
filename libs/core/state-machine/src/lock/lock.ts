/**
 * Locks of exclusive keys: one exclusive handler per key at a time, others in order of arrival. The queue is a range of sequence
 * numbers `[head, tail)` in the lock's own row; a cancelled entry leaves a hole that is skipped. While the object's queue is paused the
 * lock passes to no new holder: it has none, and its row exists for the waiting entries.
 */
import { type InvocationId, invariant } from "@perdure/base";
import { queueOfLock } from "../flow/queue.js";
import { startRun } from "../invocation/start.js";
import type { InboxEntry, ObjectLock } from "../mutation.js";
import { expireBeforeStart, settleExpiry } from "../state/expiry.js";
import { applyWaitingEdit } from "../state/replace.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

type LockResult = { readonly kind: "locked" } | { readonly kind: "queued"; readonly seq: number };

/** Takes the lock for an invocation, or queues the entry when the lock is held or the object's queue is paused. */
export function takeLockOrQueue(
  view: PartitionView,
  service: string,
  key: string,
  entry: InboxEntry & { kind: "invocation" },
  out: Transition,
): LockResult {
  const lock = view.lock(service, key) ?? heldBack(view, service, key, out);
  if (lock === undefined) {
    expireBeforeStart(view, service, key, out);
    out.mutate({ kind: "putLock", service, key, lock: { holder: entry.id, head: 0, tail: 0 } });
    return { kind: "locked" };
  }
  return { kind: "queued", seq: queue(service, key, lock, entry, out) };
}

/**
 * Returns a lock without holder when the object's queue is paused, and notes it with the pause, so that resuming finds it; else
 * undefined.
 */
export function heldBack(view: PartitionView, service: string, key: string, out: Transition): ObjectLock | undefined {
  if (view.pausedQueueCount === 0) return undefined;
  const id = queueOfLock(service, key);
  const pause = view.queuePause(id);
  if (pause === undefined) return undefined;
  if (pause.lock === undefined) {
    out.mutate({ kind: "putPause", queue: id, pause: { pausedAtMs: pause.pausedAtMs, lock: { service, key } } });
  }
  return { holder: undefined, head: 0, tail: 0 };
}

/** Appends to the queue of a lock that is not available. */
export function queue(service: string, key: string, lock: ObjectLock, entry: InboxEntry, out: Transition): number {
  const seq = lock.tail;
  out.mutate({ kind: "putInbox", service, key, seq, entry });
  out.mutate({ kind: "putLock", service, key, lock: { ...lock, tail: seq + 1 } });
  return seq;
}

/** Releases the lock of `holder` to the next entry, or to none while the object's queue is paused. */
export function releaseLock(view: PartitionView, service: string, key: string, holder: InvocationId, out: Transition): void {
  const lock = view.lock(service, key);
  invariant(lock !== undefined && lock.holder === holder, "only the holder releases an object's lock");
  settleExpiry(view, service, key, lock, out);
  if (lock.head < lock.tail && heldBack(view, service, key, out) !== undefined) {
    return out.mutate({ kind: "putLock", service, key, lock: { holder: undefined, head: lock.head, tail: lock.tail } });
  }
  passOn(view, service, key, lock, out);
}

/** The object's queue is resumed: the next entry that was held back gets the lock. */
export function handOver(view: PartitionView, service: string, key: string, out: Transition): void {
  const lock = view.lock(service, key);
  if (lock === undefined || lock.holder !== undefined) return;
  expireBeforeStart(view, service, key, out);
  passOn(view, service, key, lock, out);
}

/** Applies queued state edits and hands the lock to the next invocation in line. */
function passOn(view: PartitionView, service: string, key: string, lock: ObjectLock, out: Transition): void {
  for (let seq = lock.head; seq < lock.tail; seq++) {
    const entry = view.inbox(service, key, seq);
    if (entry === undefined) continue; // The entry was cancelled while it waited.
    out.mutate({ kind: "deleteInbox", service, key, seq });
    if (entry.kind === "stateMutation") {
      applyWaitingEdit(view, service, key, entry, out);
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
