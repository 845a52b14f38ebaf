/** The mutations that remove an archived invocation from the store. */
import type { Completed, Mutation } from "@perdure/state-machine";
import { expiresInArchive, purgeTimer } from "@perdure/storage";

/**
 * Timers of the invocation are deleted when the archive expires the record itself; others stay, because they also concern rows of the
 * partition.
 */
export function evictionOf(invocation: Completed): readonly Mutation[] {
  const { facts, journal, milestones } = invocation;
  const { id, completionRetentionMs, journalRetentionMs } = facts;
  const mutations: Mutation[] = [];
  if (journal.length > 0) mutations.push({ kind: "deleteJournal", id, length: journal.length });
  if (journal.hasEvents) mutations.push({ kind: "deleteEvents", id });
  mutations.push({ kind: "deleteInvocation", id });
  if (!expiresInArchive(invocation)) return mutations;
  mutations.push({ kind: "deleteTimer", timer: purgeTimer(invocation) });
  if (journalRetentionMs > 0 && journalRetentionMs < completionRetentionMs) {
    const dueAtMs = (milestones.completedAtMs ?? 0) + journalRetentionMs;
    mutations.push({ kind: "deleteTimer", timer: { dueAtMs, kind: "purgeJournal", id, sequence: 0 } });
  }
  return mutations;
}
