import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { WorkerClient } from "../worker-client.js";
import { nextScaling } from "./draining.js";
import type { WorkerPod } from "./worker-pods.js";

const SIGNAL = new AbortController().signal;
const NOW_MS = Date.parse("2026-01-01T00:10:00Z");

interface Case {
  readonly desired: number;
  readonly requested?: number;
  readonly present?: number;
  /** Partitions that each worker reports; undefined: it does not respond. */
  readonly left?: readonly (number | undefined)[];
  readonly noted?: { readonly drainingOrdinal: number; readonly drainingSince: string };
}

/** The requests to workers, and the resulting step. */
async function scaling({ desired, requested, present = requested ?? 0, left = [], noted }: Case) {
  const requests: string[] = [];
  const say = (what: string) => async (address: string) => {
    requests.push(`${what} ${address}`);
    const partitions = left[Number(address)];
    return partitions === undefined ? undefined : { draining: what === "drain", drainingSeconds: 0, partitions };
  };
  const workerClient: WorkerClient = { readReport: say("look"), drain: say("drain"), stay: say("stay") };
  const pods: WorkerPod[] = left.map((_, ordinal) => {
    return { ordinal, address: String(ordinal), isReady: true, isEnding: false, revision: "r", problem: undefined };
  });
  const spec = { workers: { drainSeconds: 120 } };
  const environment = { spec, status: { conditions: [], workers: noted } } as unknown as EnvironmentResource;
  const facts = { environment, desired, requested, present, nowMs: NOW_MS };
  return { ...(await nextScaling(facts, { pods: async () => pods, workerClient }, SIGNAL)), requests };
}

test("a scale-out happens at once, without requests to workers", async () => {
  expect(await scaling({ desired: 3 })).toMatchObject({ replicas: 3, requests: [] });
  expect(await scaling({ desired: 5, requested: 2, left: [9, 9] })).toMatchObject({
    replicas: 5,
    draining: undefined,
    requests: [],
  });
});

test("a worker is removed when it leads nothing, the highest ordinal first", async () => {
  expect(await scaling({ desired: 1, requested: 3, left: [8, 8, 8] })).toMatchObject({
    replicas: 3,
    draining: { ordinal: 2, since: "2026-01-01T00:10:00Z", partitions: 8 },
    requests: ["drain 2"],
  });
  expect(await scaling({ desired: 1, requested: 3, left: [12, 12, 0] })).toMatchObject({ replicas: 2, requests: ["drain 2"] });
});

test("the next worker drains when the one before is gone", async () => {
  const going = await scaling({ desired: 1, requested: 2, present: 3, left: [12, 12, 0] });
  expect(going).toMatchObject({ replicas: 2, draining: { ordinal: 2 }, requests: [] });
  expect(await scaling({ desired: 1, requested: 2, left: [12, 12] })).toMatchObject({ replicas: 2, requests: ["drain 1"] });
});

test("a worker past its drain time is removed with its partitions, whether it responds or not", async () => {
  const inTime = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:08:01Z" };
  const overdue = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:08:00Z" };
  for (const mute of [7, undefined]) {
    expect(await scaling({ desired: 1, requested: 2, left: [9, mute], noted: inTime })).toMatchObject({
      replicas: 2,
      isOverdue: false,
    });
    expect(await scaling({ desired: 1, requested: 2, left: [9, mute], noted: overdue })).toMatchObject({
      replicas: 1,
      isOverdue: true,
    });
  }
  // The time of another worker is not its own.
  const other = { drainingOrdinal: 2, drainingSince: "2026-01-01T00:00:00Z" };
  expect(await scaling({ desired: 1, requested: 2, left: [9, 7], noted: other })).toMatchObject({
    replicas: 2,
    isOverdue: false,
  });
});

test("draining is cancelled on a worker that is needed again, until it has received that", async () => {
  const noted = { drainingOrdinal: 1, drainingSince: "2026-01-01T00:09:00Z" };
  const deaf = await scaling({ desired: 2, requested: 2, left: [9, undefined], noted });
  expect(deaf).toMatchObject({ replicas: 2, draining: { ordinal: 1 }, requests: ["stay 1"] });
  const requests = await scaling({ desired: 2, requested: 2, left: [9, 3], noted });
  expect(requests).toMatchObject({ replicas: 2, draining: undefined, requests: ["stay 1"] });
});

test("scaling to zero drains no worker, since none is left to take partitions", async () => {
  expect(await scaling({ desired: 0, requested: 3, left: [8, 8, 8] })).toMatchObject({ replicas: 0, requests: [] });
});

test("a pod without an address leads nothing", async () => {
  expect(await scaling({ desired: 1, requested: 2, left: [9] })).toMatchObject({ replicas: 1, requests: [] });
});
