/** When backups are due, and their names. Pure. */
import type { Timetable } from "@perdure/recurrence";
import type { VolumeSnapshot } from "./snapshots.js";

/**
 * When the next snapshot is due, in milliseconds since 1970; undefined: never again. Counted from the start of the last one, so that one
 * snapshot replaces all that were missed while the operator was away. The last one is not simply the first in order of contents, since a
 * slow driver takes two within one second; nor is its start alone enough, since it may precede the due time where the clock of the API
 * server is behind.
 */
export function nextDueMs(timetable: Timetable, snapshots: readonly VolumeSnapshot[], createdMs: number): number | undefined {
  const timesMs = snapshots.flatMap(({ metadata }) => [Date.parse(metadata.creationTimestamp ?? ""), dueMsOf(metadata.name)]);
  return timetable.next(Math.max(createdMs, ...timesMs.filter(Number.isFinite)));
}

/** The same name in every process that takes the snapshot due at that time. */
export function backupNameOf(dueMs: number): string {
  return `redis-${new Date(dueMs).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}`;
}

/** NaN for names that others gave. */
function dueMsOf(name: string): number {
  return Date.parse(name.replace(/^redis-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z"));
}
