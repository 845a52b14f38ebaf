import { beforeEach, expect, test } from "@jest/globals";
import type { EnvironmentResource, EnvironmentResourceStatus } from "@perdure/custom-resources";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { PROGRESS_STATUS_MS, START_CHECK_MS, WAIT_PROBLEM_MS, WAIT_UNREADY_MS } from "../limits.js";
import { bad } from "./outcome.js";
import { StartChecks } from "./start-checks.js";
import { StatusPacing } from "./status-pacing.js";

const [FIRST_MS, SECOND_MS] = PROGRESS_STATUS_MS;
const NAME = environmentWith().metadata.name;
let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

const condition = (type: string, reason: string, status: "True" | "False" = "False") =>
  ({ type, status, reason, message: `${reason} of ${type}`, lastTransitionTime: "", observedGeneration: 1 }) as const;

/** Of a first start: the storage and what holds the environment up. */
function starting(storage: string, ready: string, more: Partial<EnvironmentResourceStatus> = {}): EnvironmentResourceStatus {
  return { phase: "Provisioning", conditions: [condition("StorageReady", storage), condition("Ready", ready)], ...more };
}
const FIRST = starting("VolumePending", "VolumePending");
const STORED = starting("Ready", "RollingOut");
const withStatus = (status: EnvironmentResourceStatus | undefined): EnvironmentResource =>
  ({ ...environmentWith(), ...(status === undefined ? {} : { status }) }) as EnvironmentResource;

test("the first status is written at once, and progress of the first start after pauses that grow", () => {
  const pacing = new StatusPacing(clock);
  const before = withStatus(FIRST);
  expect(pacing.holdMs(withStatus(undefined), FIRST)).toBeUndefined();
  expect(pacing.holdMs(before, STORED)).toBeUndefined(); // An earlier leader wrote it, so the time of the write is unknown.
  pacing.noteWritten(withStatus(undefined));
  expect(pacing.holdMs(before, STORED)).toBe(FIRST_MS);
  expect(pacing.holdMs(before, FIRST)).toBeUndefined(); // Nothing to write.
  clock.advanceBy(FIRST_MS - 1);
  expect(pacing.holdMs(before, STORED)).toBe(1);
  clock.advanceBy(1);
  expect(pacing.holdMs(before, STORED)).toBeUndefined();
  pacing.noteWritten(before);
  expect(pacing.holdMs(withStatus(STORED), starting("Ready", "GatewayLag"))).toBe(SECOND_MS);
});

test.each<[string, EnvironmentResourceStatus]>([
  [
    "readiness",
    starting("Ready", "Ready", { phase: "Running", version: { current: "1.4.0" } } as Partial<EnvironmentResourceStatus>),
  ],
  ["trouble", starting("Ready", "CrashLoop")],
  ["a front that refuses connections", starting("Ready", "FrontUnreachable")],
  ["a start that takes too long", starting("Ready", "DeadlineExceeded")],
  ["a changed spec", { ...STORED, observedGeneration: 2 }],
  ["a password that is recorded", { ...STORED, redisAuth: { fingerprint: "other" } }],
])("%s is written at once", (_, status) => {
  const pacing = new StatusPacing(clock);
  pacing.noteWritten(withStatus(undefined));
  expect(pacing.holdMs(withStatus(FIRST), status)).toBeUndefined();
});

test("what was ready once, and another environment of the same name, are written at once", () => {
  const pacing = new StatusPacing(clock);
  pacing.noteWritten(withStatus(undefined));
  const another = environmentWith({}, { uid: "another" });
  expect(pacing.holdMs({ ...another, status: FIRST } as EnvironmentResource, STORED)).toBeUndefined();
  const version = { current: "1.4.0" } as EnvironmentResourceStatus["version"];
  expect(pacing.holdMs(withStatus({ ...FIRST, version }), { ...STORED, version })).toBeUndefined();
});

test("pods of a first start are listed when it takes long, then once a minute, sooner while something is wrong", async () => {
  const checks = new StartChecks(clock);
  const creationTimestamp = new Date(clock.nowMs()).toISOString();
  const environment = environmentWith({}, { creationTimestamp });
  let listed = 0;
  let problem = undefined as ReturnType<typeof bad> | undefined;
  const check = () =>
    checks.check(environment, async () => {
      listed++;
      return problem;
    });
  expect(await check()).toEqual({ problem: undefined, againMs: START_CHECK_MS });
  clock.advanceBy(START_CHECK_MS);
  expect(await check()).toEqual({ problem: undefined, againMs: WAIT_UNREADY_MS });
  clock.advanceBy(WAIT_UNREADY_MS - 1);
  expect(await check()).toEqual({ problem: undefined, againMs: 1 });
  expect(listed).toBe(1);
  problem = bad("WorkersReady", "CrashLoop", "worker-0 crashes");
  clock.advanceBy(1);
  expect((await check()).problem).toBe(problem);
  expect(await check()).toEqual({ problem, againMs: WAIT_PROBLEM_MS });
  expect(listed).toBe(2);
  problem = undefined;
  clock.advanceBy(WAIT_PROBLEM_MS);
  expect((await check()).problem).toBeUndefined();
});

test("pods of an environment that was ready once are listed whenever it is not ready", async () => {
  const checks = new StartChecks(clock);
  const environment = withStatus({ version: { current: "1.4.0" } } as EnvironmentResourceStatus);
  let listed = 0;
  for (let n = 0; n < 2; n++)
    await checks.check(environment, async () => {
      listed++;
      return undefined;
    });
  expect([listed, NAME]).toEqual([2, environment.metadata.name]);
});
