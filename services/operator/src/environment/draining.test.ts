import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { WorkerDoor } from "../worker-door.js";
import { nextScaling } from "./draining.js";
import type { WorkerPod } from "./worker-pods.js";

const SIGNAL = new AbortController().signal;
const NOW_MS = Date.parse("2026-01-01T00:10:00Z");

interface Case {
  readonly wanted: number;
  readonly asked?: number;
  readonly present?: number;
  /** Partitions that each worker says it has left; undefined: it does not answer. */
  readonly left?: readonly (number | undefined)[];
  readonly noted?: { readonly drainingOrdinal: number; readonly drainingSince: string };
}

/** What was asked of whom, with what came of it. */
async function scaling({ wanted, asked, present = asked ?? 0, left = [], noted }: Case) {
  const heard: string[] = [];
  const say = (what: string) => async (address: string) => {
    heard.push(`${what} ${address}`);
    const partitions = left[Number(address)];
    return partitions === undefined ? undefined : { draining: what === "drain", drainingSeconds: 0, partitions };
  };
  const door: WorkerDoor = { look: say("look"), drain: say("drain"), stay: say("stay") };
  const pods: WorkerPod[] = left.map((_, ordinal) => {
    return { ordinal, address: String(ordinal), isReady: true, isEnding: false, revision: "r", trouble: undefined };
  });
  const spec = { workers: { drainSeconds: 120 } };
  const environment = { spec, status: { conditions: [], workers: noted } } as unknown as EnvironmentResource;
  const facts = { environment, wanted, asked, present, nowMs: NOW_MS };
  return { ...(await nextScaling(facts, { pods: async () => pods, door }, SIGNAL)), heard };
}

test("more are asked for at once, and nobody is asked anything", async () => {
  expect(await scaling({ wanted: 3 })).toMatchObject({ replicas: 3, heard: [] });
  expect(await scaling({ wanted: 5, asked: 2, left: [9, 9] })).toMatchObject({ replicas: 5, draining: undefined, heard: [] });
});

test("one goes when it has nothing left, the highest first", async () => {
  expect(await scaling({ wanted: 1, asked: 3, left: [8, 8, 8] })).toMatchObject({
    replicas: 3,
    draining: { ordinal: 2, since: "2026-01-01T00:10:00Z", partitions: 8 },
    heard: ["drain 2"],
  });
  expect(await scaling({ wanted: 1, asked: 3, left: [12, 12, 0] })).toMatchObject({ replicas: 2, heard: ["drain 2"] });
});

test("the next one is asked when the one before is gone", async () => {
  const going = await scaling({ wanted: 1, asked: 2, present: 3, left: [12, 12, 0] });
  expect(going).toMatchObject({ replicas: 2, draining: { ordinal: 2 }, heard: [] });
  expect(await scaling({ wanted: 1, asked: 2, left: [12, 12] })).toMatchObject({ replicas: 2, heard: ["drain 1"] });
});

test("who has had its time goes with what it has, whether it answers or not", async () => {
  const inTime = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:08:01Z" };
  const late = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:08:00Z" };
  for (const mute of [7, undefined]) {
    expect(await scaling({ wanted: 1, asked: 2, left: [9, mute], noted: inTime })).toMatchObject({ replicas: 2, isLate: false });
    expect(await scaling({ wanted: 1, asked: 2, left: [9, mute], noted: late })).toMatchObject({ replicas: 1, isLate: true });
  }
  // The time of another worker is not its own.
  const other = { drainingOrdinal: 2, drainingSince: "2026-01-01T00:00:00Z" };
  expect(await scaling({ wanted: 1, asked: 2, left: [9, 7], noted: other })).toMatchObject({ replicas: 2, isLate: false });
});

test("who is wanted again is told so until it has heard", async () => {
  const noted = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:09:00Z" };
  const deaf = await scaling({ wanted: 2, asked: 2, left: [9, undefined], noted });
  expect(deaf).toMatchObject({ replicas: 2, draining: { ordinal: 1 }, heard: ["stay 1"] });
  const heard = await scaling({ wanted: 2, asked: 2, left: [9, 3], noted });
  expect(heard).toMatchObject({ replicas: 2, draining: undefined, heard: ["stay 1"] });
});

test("when none is wanted at all nobody is left to give anything to", async () => {
  expect(await scaling({ wanted: 0, asked: 3, left: [8, 8, 8] })).toMatchObject({ replicas: 0, heard: [] });
});

test("a pod without an address leads nothing", async () => {
  expect(await scaling({ wanted: 1, asked: 2, left: [9] })).toMatchObject({ replicas: 1, heard: [] });
});
