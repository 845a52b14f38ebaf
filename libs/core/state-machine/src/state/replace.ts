/** Replaces the whole state of a key from outside, guarded by a version that is a hash of the state that was read. */
import { createHash } from "node:crypto";
import { bytesEqual, fromBinaryString } from "@perdure/base";
import type { MutateState } from "../command.js";
import { heldBack, queue } from "../lock/lock.js";
import type { StateMutation } from "../mutation.js";
import type { Transition } from "../transition.js";
import { isRepetition } from "../undo/keep.js";
import { changedEntries, keepEdit, keepWaitingEdit, restoreEntries, type StateReplacement } from "../undo/state-edit.js";
import type { PartitionView } from "../view.js";
import { expireBeforeStart, renewExpiry } from "./expiry.js";

/**
 * Version of a state (admin API §4.1): SHA-256 over the entries sorted by key bytes; each feeds its index as
 * 8 bytes big-endian, 0x01, the key, 0x02, the value, 0x03. Base64url without padding.
 */
export function stateVersion(entries: Iterable<readonly [string, Uint8Array]>): string {
  const hash = createHash("sha256");
  const index = Buffer.alloc(8);
  let i = 0;
  for (const [key, value] of [...entries].sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))) {
    index.writeBigUInt64BE(BigInt(i++));
    hash.update(index).update("\x01").update(fromBinaryString(key)).update("\x02").update(value).update("\x03");
  }
  return hash.digest("base64url");
}

/**
 * Applies the edit unless the state has changed since; returns whether the state is as requested, also because the same edit was made
 * before.
 */
function replaceState(view: PartitionView, edit: StateReplacement, out: Transition): boolean {
  const { service, key, expectedVersion, entries } = edit;
  const present = view.stateOf(service, key);
  if (expectedVersion !== undefined) {
    const version = stateVersion(present);
    if (version !== expectedVersion) return version === stateVersion(entries.map(({ key: name, value }) => [name, value]));
  }
  if (edit.mark !== undefined) keepEdit(view, edit, changedEntries(present, entries), out);
  const kept = new Set(entries.map((entry) => entry.key));
  for (const stateKey of present.keys()) {
    if (!kept.has(stateKey)) out.mutate({ kind: "deleteState", service, key, stateKey });
  }
  for (const { key: stateKey, value } of entries) {
    const before = present.get(stateKey);
    if (before === undefined || !bytesEqual(before, value)) out.mutate({ kind: "putState", service, key, stateKey, value });
  }
  return true;
}

/** The edit, or the undo of one, has waited behind the handlers of its key. */
export function applyWaitingEdit(
  view: PartitionView,
  service: string,
  key: string,
  waited: StateMutation,
  out: Transition,
): void {
  const { expectedVersion, entries, undo, restored } = waited;
  const edit = { id: undo?.id, service, key, isExclusive: true, expectedVersion, entries, mark: undo?.mark };
  const isApplied = restored === undefined ? replaceState(view, edit, out) : restoreEntries(view, service, key, restored, out);
  if (isApplied) renewExpiry(view, service, key, out);
}

/**
 * Replaces the state when the lock is free. An edit waits behind running and queued exclusive handlers of the key, and while its queue
 * is paused; an edit that waits cannot report a stale version.
 */
export function mutateState(view: PartitionView, command: MutateState, out: Transition): void {
  const { id, service, key, exclusive: isExclusive, expectedVersion, entries, undo: mark } = command;
  if (isRepetition(view, id, mark)) return out.effect({ kind: "reply", answer: { kind: "done" } });
  const lock = isExclusive ? (view.lock(service, key) ?? heldBack(view, service, key, out)) : undefined;
  if (lock !== undefined) {
    const undo = mark === undefined ? {} : { undo: { id, mark } };
    const seq = queue(service, key, lock, { kind: "stateMutation", expectedVersion, entries, ...undo }, out);
    keepWaitingEdit(view, command, seq, out);
    return out.effect({ kind: "reply", answer: { kind: "pending" } });
  }
  if (isExclusive) expireBeforeStart(view, service, key, out);
  const applied = replaceState(view, { id, service, key, isExclusive, expectedVersion, entries, mark }, out);
  if (applied && isExclusive) renewExpiry(view, service, key, out);
  out.effect({ kind: "reply", answer: { kind: applied ? "done" : "versionMismatch" } });
}
