import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import type { WorkerReport } from "../worker-door.js";
import { isFilling, VolumeLooks } from "./volume-looks.js";
import type { WorkerPod } from "./worker-pods.js";

const GIB = 1024 ** 3;
const report: WorkerReport = { draining: false, drainingSeconds: 0, partitions: 1, logBytes: 3 * GIB + 5 };
const pod: WorkerPod = {
  ordinal: 0,
  address: "10.0.0.1",
  isReady: true,
  isEnding: false,
  revision: undefined,
  trouble: undefined,
};
const { signal } = new AbortController();

function looks(answer: WorkerReport | undefined, clock = new VirtualClock()) {
  const asked: string[] = [];
  const look = async (address: string) => {
    asked.push(address);
    return answer;
  };
  return { asked, clock, looks: new VolumeLooks({ clock, door: { look, drain: look, stay: look } }) };
}

test("a worker that runs is asked now and then, and what it says is told in steps of the volume", async () => {
  const { asked, clock, looks: volumes } = looks(report);
  const environment = environmentWith();
  const seen = await volumes.look(environment, async () => [{ ...pod, isReady: false }, pod], signal);
  expect(seen).toBeGreaterThan(3 * GIB);
  expect((seen ?? 0) - 3 * GIB).toBeLessThan(GIB / 5);
  expect(await volumes.look(environment, async () => [pod], signal)).toBeUndefined();
  expect(asked).toEqual(["10.0.0.1"]);
  clock.advanceTo(clock.nowMs() + 10 * 60_000);
  expect(await volumes.look(environment, async () => [pod], signal)).toBe(seen);
});

test("nobody says anything where nobody runs, and somebody should act from four fifths on", async () => {
  const { clock, looks: volumes } = looks(undefined);
  expect(await volumes.look(environmentWith(), async () => [], signal)).toBeUndefined();
  clock.advanceTo(clock.nowMs() + 10 * 60_000);
  expect(await volumes.look(environmentWith(), async () => [pod], signal)).toBeUndefined();
  expect([7.9, 8, 11].map((gib) => isFilling(environmentWith(), gib * GIB))).toEqual([false, true, true]);
});
