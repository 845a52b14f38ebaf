/** Replaces the whole state of a key from outside, guarded by a version that is a hash of the state that was read. */
import { createHash } from "node:crypto";
import { fromBinaryString } from "@perdure/base";
import type { MutateState, UserStateEntry } from "../command.js";
import { heldBack, queue } from "../lock/lock.js";
import type { Transition } from "../transition.js";
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
export function replaceState(
  view: PartitionView,
  service: string,
  key: string,
  expectedVersion: string | undefined,
  entries: readonly UserStateEntry[],
  out: Transition,
): boolean {
  const present = view.stateOf(service, key);
  if (expectedVersion !== undefined) {
    const version = stateVersion(present);
    if (version !== expectedVersion) return version === stateVersion(entries.map(({ key: name, value }) => [name, value]));
  }
  const kept = new Set(entries.map((entry) => entry.key));
  for (const stateKey of present.keys()) {
    if (!kept.has(stateKey)) out.mutate({ kind: "deleteState", service, key, stateKey });
  }
  for (const entry of entries) out.mutate({ kind: "putState", service, key, stateKey: entry.key, value: entry.value });
  return true;
}

/**
 * Replaces the state when the lock is free. An edit waits behind running and queued exclusive handlers of the key, and while its queue
 * is paused; an edit that waits cannot report a stale version.
 */
export function mutateState(view: PartitionView, command: MutateState, out: Transition): void {
  const { service, key } = command;
  const lock = command.exclusive ? (view.lock(service, key) ?? heldBack(view, service, key, out)) : undefined;
  if (lock !== undefined) {
    const entry = { kind: "stateMutation", expectedVersion: command.expectedVersion, entries: command.entries } as const;
    queue(service, key, lock, entry, out);
    return out.effect({ kind: "reply", answer: { kind: "pending" } });
  }
  if (command.exclusive) expireBeforeStart(view, service, key, out);
  const applied = replaceState(view, service, key, command.expectedVersion, command.entries, out);
  if (applied && command.exclusive) renewExpiry(view, service, key, out);
  out.effect({ kind: "reply", answer: { kind: applied ? "done" : "versionMismatch" } });
}
