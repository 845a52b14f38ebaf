import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import type { WorkerReport } from "../worker-client.js";
import { isFilling, VolumePoller } from "./volume-poller.js";
import type { WorkerPod } from "./worker-pods.js";

const GIB = 1024 ** 3;
const report: WorkerReport = { draining: false, drainingSeconds: 0, partitions: 1, logBytes: 3 * GIB + 5 };
const pod: WorkerPod = {
  ordinal: 0,
  address: "10.0.0.1",
  isReady: true,
  isEnding: false,
  revision: undefined,
  problem: undefined,
};
const { signal } = new AbortController();

function pollerWith(answer: WorkerReport | undefined, clock = new VirtualClock()) {
  const requests: string[] = [];
  const reply = async (address: string) => {
    requests.push(address);
    return answer;
  };
  return { requests, clock, poller: new VolumePoller({ clock, workerClient: { readReport: reply, drain: reply, stay: reply } }) };
}

test("a running worker is polled at intervals, and its report is rounded to steps of the volume", async () => {
  const { requests, clock, poller: volumes } = pollerWith(report);
  const environment = environmentWith();
  const usedBytes = await volumes.poll(environment, async () => [{ ...pod, isReady: false }, pod], signal);
  expect(usedBytes).toBeGreaterThan(3 * GIB);
  expect((usedBytes ?? 0) - 3 * GIB).toBeLessThan(GIB / 5);
  expect(await volumes.poll(environment, async () => [pod], signal)).toBeUndefined();
  expect(requests).toEqual(["10.0.0.1"]);
  clock.advanceTo(clock.nowMs() + 10 * 60_000);
  expect(await volumes.poll(environment, async () => [pod], signal)).toBe(usedBytes);
});

test("no size is reported without running workers, and a volume counts as filling from four fifths on", async () => {
  const { clock, poller: volumes } = pollerWith(undefined);
  expect(await volumes.poll(environmentWith(), async () => [], signal)).toBeUndefined();
  clock.advanceTo(clock.nowMs() + 10 * 60_000);
  expect(await volumes.poll(environmentWith(), async () => [pod], signal)).toBeUndefined();
  expect([7.9, 8, 11].map((gib) => isFilling(environmentWith(), gib * GIB))).toEqual([false, true, true]);
});
