import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { OwnLeases } from "./own-leases.js";

test("a lease is dated from its first read, ends later with each renewal, and begins anew with another epoch", () => {
  let nowMs = 1_000;
  const leases = new OwnLeases("w", { ...systemClock, nowMs: () => nowMs });
  leases.update([{ worker: "w", epoch: 1 }, { worker: "other", epoch: 9, leftMs: 500 }, undefined]);
  expect(leases.of([0])).toEqual([{ partition: 0, epoch: 1, sinceMs: 1_000, leaseExpiresAtMs: undefined }]);

  nowMs = 1_250;
  leases.update([{ worker: "w", epoch: 1, leftMs: 2_000 }]);
  nowMs = 1_500;
  leases.update([{ worker: "w", epoch: 1 }]); // The store does not always report how long.
  expect(leases.of([0])).toEqual([{ partition: 0, epoch: 1, sinceMs: 1_000, leaseExpiresAtMs: 3_250 }]);

  leases.update([{ worker: "w", epoch: 3, leftMs: 2_000 }]);
  expect(leases.of([0])).toEqual([{ partition: 0, epoch: 3, sinceMs: 1_500, leaseExpiresAtMs: 3_500 }]);
});

test("partitions that another worker leads, or none yet, are omitted", () => {
  const leases = new OwnLeases("w", systemClock);
  leases.update([
    { worker: "w", epoch: 1 },
    { worker: "w", epoch: 1 },
  ]);
  leases.update([
    { worker: "other", epoch: 2 },
    { worker: "w", epoch: 1 },
  ]);
  expect(leases.of([0])).toEqual([]);
  expect(leases.of([])).toEqual([]);
  expect(leases.of([1])).toMatchObject([{ partition: 1, epoch: 1 }]);
});
