/** Converts an invocation to an archive record, and packs its journal and events: rows one after the other, each with its length. */
import { EMPTY_BYTES, invariant, ProtoReader, ProtoWriter } from "@perdure/base";
import {
  type Completed,
  expiresAtMs,
  isWorkflowRun,
  type JournalEntry,
  type JournalEvent,
  type TimerKey,
} from "@perdure/state-machine";
import type { ArchiveRecord } from "./archive.js";
import { encodeInvocation } from "./codec/invocation.js";
import { encodeEntry, encodeEvent } from "./codec/rows.js";

const writer = new ProtoWriter();

export function archiveRecord(
  invocation: Completed,
  entries: readonly JournalEntry[],
  events: readonly JournalEvent[],
): ArchiveRecord {
  const { facts } = invocation;
  invariant(entries.length === invocation.journal.length, "a journal is archived whole");
  return {
    id: facts.id,
    service: facts.target.service,
    createdAtMs: facts.createdAtMs,
    completedAtMs: invocation.milestones.completedAtMs ?? 0,
    isFailure: invocation.outcome.kind === "failure",
    retainedUntilMs: retainedUntilMs(invocation),
    expires: expiresInArchive(invocation),
    row: encodeInvocation(invocation),
    journal: packRows(entries.map(encodeEntry)),
    events: packRows(events.map(encodeEvent)),
  };
}

/** Returns when the retention is over: the due time of the `purge` timer. */
export function retainedUntilMs(invocation: Completed): number {
  return expiresAtMs(invocation) ?? 0;
}

/**
 * Whether deleting the record is all that remains to be done for the invocation. The timers of other invocations stay with the
 * partition.
 */
export function expiresInArchive({ facts, journal }: Completed): boolean {
  if (isWorkflowRun(facts.target)) return false;
  return journal.length === 0 || facts.journalRetentionMs >= facts.completionRetentionMs;
}

/** Returns the retention timer of a completed invocation, which exists while the partition stores the invocation. */
export function purgeTimer(invocation: Completed): TimerKey {
  return { dueAtMs: retainedUntilMs(invocation), kind: "purge", id: invocation.facts.id, sequence: 0 };
}

export function packRows(rows: readonly Uint8Array[]): Uint8Array {
  if (rows.length === 0) return EMPTY_BYTES;
  const w = writer.reset();
  for (const row of rows) w.bytes(1, row);
  return w.finish();
}

/** Splits `packed` into rows, which are views of it. */
export function unpackRows(packed: Uint8Array): Uint8Array[] {
  const r = new ProtoReader(packed);
  const rows: Uint8Array[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) rows.push(r.bytes());
    else r.skip(tag & 7);
  }
  return rows;
}
