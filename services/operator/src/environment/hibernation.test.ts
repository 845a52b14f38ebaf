import { describe, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { WorkerReport } from "../worker-client.js";
import { type HibernationDecision, nextRest, restingEnvironment } from "./hibernation.js";

const NOW_MS = Date.parse("2026-01-01T12:00:00Z");
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW_MS + ms).toISOString().replace(/\.\d+Z$/, "Z");

const idle: WorkerReport = {
  draining: false,
  drainingSeconds: 0,
  partitions: 12,
  inFlight: false,
  readySeconds: 0,
  idleSeconds: 600,
  timerDueAtMs: null,
  scheduleDueAtMs: null,
  subscriptions: 0,
};

interface Case {
  /** Reports of two workers; undefined: one does not respond. */
  readonly say?: readonly Partial<WorkerReport>[] | undefined;
  readonly hibernation?: HibernationDecision["hibernation"];
  readonly nextWakeTime?: string;
  readonly isReady?: boolean;
  readonly suspended?: boolean;
  readonly generation?: number;
  readonly wake?: string;
  readonly isIngressClosed?: boolean;
  readonly afterIdle?: string;
}

function nextRestOf(given: Case): Promise<HibernationDecision> {
  const { say = [{}, {}], hibernation, nextWakeTime, isReady = hibernation === undefined, suspended = false, wake } = given;
  const environment = {
    metadata: {
      name: "env-0",
      generation: given.generation ?? 1,
      annotations: wake === undefined ? {} : { "perdure.dev/wake": wake },
    },
    spec: { workers: { partitions: 24 }, hibernation: { afterIdle: given.afterIdle ?? "5m" }, suspended },
    status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }], hibernation, nextWakeTime },
  } as unknown as EnvironmentResource;
  return nextRest({
    environment,
    nowMs: NOW_MS,
    readReports: async () => ("say" in given && given.say === undefined ? undefined : say.map((one) => ({ ...idle, ...one }))),
    isIngressClosed: async () => given.isIngressClosed ?? true,
  });
}

const stateAfter = async (given: Case): Promise<string> => (await nextRestOf(given)).hibernation?.state ?? "awake";

describe("an environment that is awake", () => {
  test("closes its front when it was idle for long enough, and records when the first timer is due", async () => {
    const rest = await nextRestOf({
      say: [{ timerDueAtMs: NOW_MS + 2 * HOUR_MS }, { scheduleDueAtMs: NOW_MS + HOUR_MS }],
      wake: "w1",
    });
    expect(rest).toMatchObject({
      hibernation: { state: "Closing", since: at(0), generation: 1, wakeAsked: "w1" },
      nextWakeTime: at(HOUR_MS),
      lastActivityTime: at(-600_000),
    });
  });

  test.each<[string, Case]>([
    ["one is busy", { say: [{}, { inFlight: true }] }],
    ["something is ready", { say: [{}, { readySeconds: 0.1 }] }],
    ["something happened lately", { say: [{}, { idleSeconds: 299 }] }],
    ["topics are read", { say: [{}, { subscriptions: 1 }] }],
    ["a timer is due soon", { say: [{}, { timerDueAtMs: NOW_MS + 179_000 }] }],
    ["a timer is overdue", { say: [{}, { timerDueAtMs: NOW_MS - 1 }] }],
    ["a schedule is due soon", { say: [{ scheduleDueAtMs: NOW_MS + 60_000 }, {}] }],
    ["no registry says which schedules there are", { say: [{ scheduleDueAtMs: undefined }, {}] }],
    ["a worker does not answer", { say: undefined }],
    ["there is no worker", { say: [] }],
    ["a partition is on the move", { say: [{}, { partitions: 11 }] }],
    ["a worker has just begun", { say: [{}, { inFlight: undefined, idleSeconds: undefined }] }],
    ["it is not ready", { isReady: false }],
    ["it is suspended", { suspended: true }],
    ["hibernation is not requested", { afterIdle: "0s" }],
  ])("stays so when %s", async (_, given) => {
    expect(await stateAfter(given)).toBe("awake");
  });
});

const closing = { state: "Closing", since: at(-10_000), generation: 1, wakeAsked: undefined } as const;

describe("an environment whose front closes", () => {
  test("hibernates when the front is closed and it is still idle, until the first timer known then and now", async () => {
    expect(await stateAfter({ hibernation: closing, isIngressClosed: false })).toBe("Closing");
    const say = [{ scheduleDueAtMs: undefined }, { timerDueAtMs: NOW_MS + 2 * HOUR_MS, scheduleDueAtMs: undefined }];
    const rest = await nextRestOf({ hibernation: closing, nextWakeTime: at(HOUR_MS), say });
    expect(rest).toMatchObject({ hibernation: { state: "Asleep", since: at(0), generation: 1 }, nextWakeTime: at(HOUR_MS) });
    const sooner = await nextRestOf({ hibernation: closing, nextWakeTime: at(3 * HOUR_MS), say });
    expect(sooner.nextWakeTime).toBe(at(2 * HOUR_MS));
  });

  test("opens its front again when a request arrived, it is woken, or closing takes too long", async () => {
    expect(await stateAfter({ hibernation: closing, say: [{}, { inFlight: true }] })).toBe("awake");
    expect(await stateAfter({ hibernation: closing, say: [{}, { timerDueAtMs: NOW_MS + 60_000 }] })).toBe("awake");
    expect(await stateAfter({ hibernation: closing, wake: "now" })).toBe("awake");
    expect(await stateAfter({ hibernation: closing, generation: 2 })).toBe("awake");
    expect(await stateAfter({ hibernation: closing, say: undefined })).toBe("Closing");
    expect(await stateAfter({ hibernation: { ...closing, since: at(-301_000) }, say: undefined })).toBe("awake");
    expect(await stateAfter({ hibernation: { ...closing, since: at(-301_000) }, isIngressClosed: false })).toBe("awake");
  });
});

const asleep = { state: "Asleep", since: at(-HOUR_MS), generation: 1, wakeAsked: "w1" } as const;

describe("a hibernated environment", () => {
  test("is reconciled as a suspended one, and checked again when it is due", async () => {
    const rest = await nextRestOf({ hibernation: asleep, nextWakeTime: at(60_000) });
    expect([rest.hibernation, rest.againMs]).toEqual([asleep, 30_000]);
    expect((await nextRestOf({ hibernation: asleep })).againMs).toBe(HOUR_MS);
    const environment = { spec: { suspended: false } } as unknown as EnvironmentResource;
    expect(restingEnvironment(environment, rest).spec.suspended).toBe(true);
    expect(restingEnvironment(environment, { ...rest, hibernation: closing }).spec.suspended).toBe(false);
  });

  test.each<[string, Case, string]>([
    ["something is due in thirty seconds", { nextWakeTime: at(30_000) }, "Waking"],
    ["something is overdue", { nextWakeTime: at(-HOUR_MS) }, "Waking"],
    ["a wake-up is requested", { wake: "w2" }, "Waking"],
    ["its spec was changed", { generation: 2 }, "Waking"],
    ["it shall not sleep any more", { afterIdle: "0s" }, "Waking"],
    ["the request with which it was hibernated is still there", { wake: "w1" }, "Asleep"],
    ["that request was withdrawn", {}, "Asleep"],
    ["it is suspended", { suspended: true, generation: 2 }, "awake"],
  ])("when %s is %s", async (_, given, state) => {
    expect(await stateAfter({ hibernation: asleep, ...given })).toBe(state);
  });

  test("is awake when it is ready", async () => {
    const waking = { state: "Waking", since: at(-5_000) } as const;
    expect(await stateAfter({ hibernation: waking })).toBe("Waking");
    expect(await stateAfter({ hibernation: waking, isReady: true })).toBe("awake");
  });
});
