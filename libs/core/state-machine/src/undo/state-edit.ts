/**
 * Undoes an edit of the state of an object or workflow. Only the entries that the edit changed are put back, and only while each of them
 * is as the edit left it: an entry that a handler or another edit has written since, or that has expired, refuses the whole undo.
 */
import { createHash } from "node:crypto";
import { bytesEqual, type InvocationId } from "@perdure/base";
import type { MutateState, UndoMark, UserStateEntry } from "../command.js";
import { heldBack, queue } from "../lock/lock.js";
import { expireBeforeStart, renewExpiry } from "../state/expiry.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import type { ChangedEntry, StateEditRecord, UndoNote } from "./rows.js";

/** A replacement of the whole state of a key. */
export interface StateReplacement {
  readonly id: InvocationId | undefined;
  readonly service: string;
  readonly key: string;
  readonly isExclusive: boolean;
  readonly expectedVersion: string | undefined;
  readonly entries: readonly UserStateEntry[];
  readonly mark: UndoMark | undefined;
}

/** Expected version of a waiting undo. No state has it: a release that does not have undos of edits drops the entry. */
const NO_STATE_VERSION = "undo";

/** Entries that replacing `present` by `entries` changes. */
export function changedEntries(
  present: ReadonlyMap<string, Uint8Array>,
  entries: readonly UserStateEntry[],
): readonly ChangedEntry[] {
  const changes: ChangedEntry[] = [];
  const next = new Map(entries.map(({ key, value }) => [key, value]));
  for (const [key, value] of next) {
    const before = present.get(key);
    if (before === undefined || !bytesEqual(before, value)) changes.push({ key, before, afterHash: hashOf(value) });
  }
  for (const [key, before] of present) if (!next.has(key)) changes.push({ key, before, afterHash: undefined });
  return changes;
}

/** The edit waits behind the handlers of its key: until it is applied its undo withdraws it. */
export function keepWaitingEdit(view: PartitionView, command: MutateState, seq: number, out: Transition): void {
  const { id, service, key, undo: mark } = command;
  keep(view, id, mark, { service, key, isExclusive: true, waitsAt: seq, changes: [] }, out);
}

/** Call it before the edit. */
export function keepEdit(view: PartitionView, edit: StateReplacement, changes: readonly ChangedEntry[], out: Transition): void {
  const { id, service, key, isExclusive, mark } = edit;
  keep(view, id, mark, { service, key, isExclusive, waitsAt: undefined, changes }, out);
}

function keep(
  { undo }: PartitionView,
  id: InvocationId | undefined,
  mark: UndoMark | undefined,
  record: StateEditRecord,
  out: Transition,
): void {
  if (id === undefined || mark === undefined || undo?.keepsNew !== true || mark.untilMs <= out.nowMs) return;
  const note = { id, operation: mark.operation, kind: "stateEdited", untilMs: mark.untilMs, generation: undefined } as const;
  undo.put(note, record, out.nowMs);
}

/** `waiting`: the undo is applied when the handlers before it have ended, unless they write the same entries. */
export function undoStateEdit(
  view: PartitionView,
  note: UndoNote,
  record: StateEditRecord,
  out: Transition,
): "undone" | "waiting" | "conflict" {
  const { service, key, isExclusive, waitsAt, changes } = record;
  if (waitsAt !== undefined) return withdraw(view, note, record, waitsAt, out);
  const lock = isExclusive ? (view.lock(service, key) ?? heldBack(view, service, key, out)) : undefined;
  if (lock === undefined && isExclusive) expireBeforeStart(view, service, key, out);
  if (!isAsLeft(view.stateOf(service, key), changes)) return "conflict";
  if (lock !== undefined) {
    const entry = { kind: "stateMutation", expectedVersion: NO_STATE_VERSION, entries: [], restored: changes } as const;
    queue(service, key, lock, entry, out);
    return "waiting";
  }
  restoreEntries(view, service, key, changes, out);
  if (isExclusive) renewExpiry(view, service, key, out);
  return "undone";
}

/** Returns whether the entries were as the edit left them; otherwise nothing is changed. */
export function restoreEntries(
  view: PartitionView,
  service: string,
  key: string,
  changes: readonly ChangedEntry[],
  out: Transition,
): boolean {
  if (!isAsLeft(view.stateOf(service, key), changes)) return false;
  for (const { key: stateKey, before } of changes) {
    if (before === undefined) out.mutate({ kind: "deleteState", service, key, stateKey });
    else out.mutate({ kind: "putState", service, key, stateKey, value: before });
  }
  return true;
}

function withdraw(
  view: PartitionView,
  { operation }: UndoNote,
  { service, key }: StateEditRecord,
  seq: number,
  out: Transition,
): "undone" | "conflict" {
  const entry = view.inbox(service, key, seq);
  // A release that does not keep edits has applied it.
  if (entry?.kind !== "stateMutation" || entry.undo?.mark.operation !== operation) return "conflict";
  out.mutate({ kind: "deleteInbox", service, key, seq });
  return "undone";
}

function isAsLeft(present: ReadonlyMap<string, Uint8Array>, changes: readonly ChangedEntry[]): boolean {
  return changes.every(({ key, afterHash }) => {
    const value = present.get(key);
    if (value === undefined || afterHash === undefined) return value === undefined && afterHash === undefined;
    return bytesEqual(hashOf(value), afterHash);
  });
}

function hashOf(value: Uint8Array): Uint8Array {
  return createHash("sha256").update(value).digest();
}
