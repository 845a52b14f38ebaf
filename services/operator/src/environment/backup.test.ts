import { describe, expect, test } from "@jest/globals";
import type { KubernetesClient } from "@perdure/kubernetes";
import { parseRecurrence, timetableOf, zoneOf } from "@perdure/recurrence";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { keepBackups } from "./backup.js";
import { backupNameOf, nextDueMs } from "./backup-times.js";
import type { VolumeSnapshot } from "./snapshots.js";

const createdMs = Date.parse("2026-03-01T00:00:00Z");
const at = (second: number) => new Date(createdMs + second * 1_000).toISOString();

function everySecond() {
  const parsed = parseRecurrence("every 1s");
  const zone = zoneOf("UTC");
  if (!parsed.ok || zone === undefined) throw new Error("no timetable");
  return timetableOf(parsed.value, zone, createdMs);
}

/** A snapshot that was due, begun and taken at these seconds after the creation of the environment. */
const snapshot = (due: number, begun: number, created: number): VolumeSnapshot =>
  ({
    metadata: { name: backupNameOf(createdMs + due * 1_000), creationTimestamp: at(begun) },
    status: { creationTime: at(created), readyToUse: true },
  }) as VolumeSnapshot;

const next = (...snapshots: VolumeSnapshot[]) =>
  ((nextDueMs(everySecond(), snapshots, createdMs) ?? Number.NaN) - createdMs) / 1_000;

describe("the next backup", () => {
  test("is due once after the environment began", () => {
    expect(next()).toBe(1);
  });

  test("is one for all that were missed", () => {
    expect(next(snapshot(1, 60, 61))).toBe(61);
  });

  // Regression: no snapshot was taken any more, because one of that name existed.
  test("comes after all existing ones, though two were taken within one second", () => {
    expect(next(snapshot(1, 1, 3), snapshot(2, 3, 3))).toBe(4);
    expect(next(snapshot(2, 3, 3), snapshot(1, 1, 3))).toBe(4);
  });

  test("comes after the last one, though the API server's clock is behind", () => {
    expect(next(snapshot(5, 3, 3))).toBe(6);
  });

  test("ignores snapshots with other names", () => {
    const other = { metadata: { name: "redis-by-hand", creationTimestamp: at(7) } } as VolumeSnapshot;
    expect(next(other)).toBe(8);
  });
});

test("a snapshot that its driver cannot complete blocks the others only until it is deleted, however long the deletion takes", async () => {
  const pending: VolumeSnapshot = { ...snapshot(1, 1, 1), status: { error: { message: "no space" } } };
  const requests: string[] = [];
  const run = (snapshots: VolumeSnapshot) => {
    const client = {
      list: async () => ({ items: [snapshots] }),
      create: async ({ metadata }: VolumeSnapshot) => requests.push(metadata.name),
    } as unknown as KubernetesClient;
    const made = environmentWith({ backup: { schedule: "every 1s", keep: 2 } }, { creationTimestamp: at(0) });
    const environment = { ...made, status: { data: { present: true } } } as typeof made;
    const ports = { client, cell: { ...cell, snapshots: "on" as const } };
    return keepBackups(environment, ports, createdMs + 10_000, new AbortController().signal);
  };
  expect((await run(pending)).problem).toMatchObject({ type: "BackupFailed" });
  expect(requests).toEqual([]);
  const leaving = { ...pending, metadata: { ...pending.metadata, deletionTimestamp: at(9) } };
  expect((await run(leaving)).problem).toBeUndefined();
  expect(requests).toEqual([backupNameOf(createdMs + 2_000)]);
});
