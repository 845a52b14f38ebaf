/**
 * Takes a snapshot of the volume of an environment with a schedule whenever one is due, and keeps the latest ones. The existing snapshots
 * are read from the cluster each time, so a crash between two steps neither repeats nor loses one.
 */
import { present } from "@perdure/base";
import { type EnvironmentResource, type Observation, objectNameOf } from "@perdure/custom-resources";
import { resources } from "@perdure/kubernetes";
import { parseRecurrence, type Timetable, timetableOf, zoneOf } from "@perdure/recurrence";
import { SNAPSHOT_STALE_INTERVALS, WAIT_REFERENCE_MS, WAIT_SNAPSHOT_MS } from "../limits.js";
import { backupNameOf, nextDueMs } from "./backup-times.js";
import {
  markContent,
  type SnapshotPorts,
  snapshotAtMs,
  snapshotsOf,
  snapshotsServed,
  takeSnapshot,
  type VolumeSnapshot,
} from "./snapshots.js";

/** State of the backups after one pass. */
export interface BackupResult {
  /** Undefined when all is well. */
  readonly problem: Observation | undefined;
  /** Milliseconds until the next check; undefined: only changes and the resync cause one. */
  readonly againMs: number | undefined;
  readonly lastSnapshotId: string | undefined;
  /** RFC 3339. */
  readonly lastSnapshotTime: string | undefined;
  /** The same, in milliseconds since 1970. */
  readonly lastSnapshotMs: number | undefined;
  /** The last one is older than twice the time between two. */
  readonly isStale: boolean;
}

const NOTHING: BackupResult = {
  problem: undefined,
  againMs: undefined,
  lastSnapshotId: undefined,
  lastSnapshotTime: undefined,
  lastSnapshotMs: undefined,
  isStale: false,
};
const SECOND_MS = 1_000;

/** Rejects with the API server's error. `nowMs`: since 1970. */
export async function keepBackups(
  environment: EnvironmentResource,
  ports: SnapshotPorts,
  nowMs: number,
  signal: AbortSignal,
): Promise<BackupResult> {
  const { schedule, keep } = environment.spec.backup ?? {};
  if (schedule === undefined || keep === undefined) return NOTHING;
  if (environment.spec.redis.bundled === undefined)
    return unavailable("ExternalRedis", "Redis is external; its operator makes its backups");
  const parsed = parseRecurrence(schedule);
  if (!parsed.ok) return unavailable("InvalidSchedule", `backup.schedule is not usable: ${parsed.reason}`);
  if (!(await snapshotsServed(ports, signal)))
    return unavailable("NoSnapshots", "this cluster has no snapshots of volumes (snapshot.storage.k8s.io/v1)", WAIT_REFERENCE_MS);
  if (environment.status?.data?.present !== true) return NOTHING;

  const createdMs = Date.parse(environment.metadata.creationTimestamp ?? "");
  const timetable = timetableOf(parsed.value, present(zoneOf("UTC")), createdMs);
  const snapshots = await snapshotsOf(environment, "scheduled", ports, signal);
  // A snapshot in deletion does not count, however long its driver takes.
  const kept = snapshots.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = kept.filter(({ status }) => status?.readyToUse === true);
  const pending = kept.find(({ status }) => status?.readyToUse !== true);
  await prune(environment, ready.slice(keep), ports, signal);
  const last = await lastOf(environment, ready[0], ports, signal);
  const isStale = isOverdue(timetable, ready[0] === undefined ? createdMs : snapshotAtMs(ready[0]), nowMs);
  const result = { ...last, isStale, problem: undefined };
  if (pending !== undefined) return { ...result, problem: failureOf(pending), againMs: WAIT_SNAPSHOT_MS };
  const dueMs = nextDueMs(timetable, snapshots, createdMs);
  if (dueMs === undefined) return { ...result, againMs: undefined };
  if (dueMs > nowMs) return { ...result, againMs: Math.min(dueMs - nowMs, WAIT_REFERENCE_MS) };
  await takeSnapshot(environment, backupNameOf(dueMs), "scheduled", ports, signal);
  return { ...result, againMs: WAIT_SNAPSHOT_MS };
}

const unavailable = (reason: string, message: string, againMs?: number): BackupResult => ({
  ...NOTHING,
  problem: { type: "BackupUnavailable", status: "True", reason, message },
  againMs,
});

/** The snapshot controller retries by itself. */
function failureOf({ metadata, status }: VolumeSnapshot): Observation | undefined {
  const message = status?.error?.message;
  if (message === undefined) return undefined;
  return { type: "BackupFailed", status: "True", reason: "SnapshotFailed", message: `snapshot ${metadata.name}: ${message}` };
}

async function prune(
  environment: EnvironmentResource,
  tooMany: readonly VolumeSnapshot[],
  { client }: SnapshotPorts,
  signal: AbortSignal,
): Promise<void> {
  const namespace = objectNameOf(environment.spec.environmentId);
  for (const { metadata } of tooMany) {
    const { name, uid } = metadata;
    await client.delete(resources.volumeSnapshots, name, namespace, uid === undefined ? { signal } : { uid, signal });
  }
}

async function lastOf(
  environment: EnvironmentResource,
  newest: VolumeSnapshot | undefined,
  ports: SnapshotPorts,
  signal: AbortSignal,
): Promise<Pick<BackupResult, "lastSnapshotId" | "lastSnapshotTime" | "lastSnapshotMs">> {
  const lastSnapshotId = newest?.status?.boundVolumeSnapshotContentName;
  if (newest === undefined || lastSnapshotId === undefined) return NOTHING;
  if (environment.status?.data?.lastSnapshotId !== lastSnapshotId)
    await markContent(environment, lastSnapshotId, false, ports, signal);
  const lastSnapshotMs = snapshotAtMs(newest);
  const lastSnapshotTime = new Date(lastSnapshotMs).toISOString().replace(/\.\d+Z$/, "Z");
  return { lastSnapshotId, lastSnapshotTime, lastSnapshotMs };
}

/** Whether more fire times than allowed went by without a backup. */
function isOverdue(timetable: Timetable, sinceMs: number, nowMs: number): boolean {
  let at: number | undefined = sinceMs;
  for (let n = 0; n < SNAPSHOT_STALE_INTERVALS; n++) {
    at = timetable.next(at);
    if (at === undefined) return false;
  }
  return at + SECOND_MS < nowMs;
}
