import { expect, test } from "@jest/globals";
import type { KubernetesClient } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { snapshotsOf, type VolumeSnapshot } from "./snapshots.js";

const SECOND = "2026-03-01T00:00:05Z";
const snapshot = (name: string, creationTimestamp: string, creationTime: string | undefined): VolumeSnapshot =>
  ({
    metadata: { name, creationTimestamp },
    status: { readyToUse: true, ...(creationTime === undefined ? {} : { creationTime }) },
  }) as VolumeSnapshot;

async function orderOf(...items: VolumeSnapshot[]): Promise<readonly string[]> {
  const client = { list: async () => ({ items }) } as unknown as KubernetesClient;
  const sorted = await snapshotsOf(environmentWith(), "scheduled", { client, cell }, new AbortController().signal);
  return sorted.map(({ metadata }) => metadata.name);
}

test("of snapshots taken within one second the one that was requested later is newer, in any order", async () => {
  const first = snapshot("redis-20260301-000001", "2026-03-01T00:00:01Z", SECOND);
  const second = snapshot("redis-20260301-000003", "2026-03-01T00:00:03Z", SECOND);
  for (const snapshots of [
    [first, second],
    [second, first],
  ])
    expect(await orderOf(...snapshots)).toEqual(["redis-20260301-000003", "redis-20260301-000001"]);
});

test("of snapshots requested within one second, the one that was due later is newer", async () => {
  const first = snapshot("redis-20260301-000004", SECOND, SECOND);
  const second = snapshot("redis-20260301-000005", SECOND, SECOND);
  for (const snapshots of [
    [first, second],
    [second, first],
  ])
    expect(await orderOf(...snapshots)).toEqual(["redis-20260301-000005", "redis-20260301-000004"]);
});

test("a snapshot whose driver reports no time counts as taken when it was requested", async () => {
  const withoutTime = snapshot("a", "2026-03-01T00:00:01Z", "2026-03-01T00:00:02Z");
  expect(await orderOf(withoutTime, snapshot("b", SECOND, undefined))).toEqual(["b", "a"]);
});
