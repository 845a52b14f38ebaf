import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type CriticalPath, criticalPathOf } from "./critical-path.js";
import type { DrawnAttempt, InvocationTimeline, TimelinePhase, TimelineStep } from "./invocation-timeline.js";

/** `result` pending: it has not ended. */
function aStep(
  index: number,
  name: string,
  fromMs: number,
  toMs: number,
  changes: Partial<TimelineStep["view"]> = {},
): TimelineStep {
  const result = changes.result ?? "success";
  const view = {
    index,
    type: "Run",
    name,
    subject: "",
    from: "",
    to: null,
    duration_ms: null,
    result,
    failure: null,
    invocation_id: null,
    bytes: null,
    result_bytes: null,
    ...changes,
  };
  return { index, result, fromMs, toMs, view };
}

const call = (index: number, target: string, fromMs: number, toMs: number) =>
  aStep(index, "", fromMs, toMs, { type: "Call", subject: target });

const aPhase = (phase: TimelinePhase["phase"], fromMs: number, toMs: number, waitsFor?: string): TimelinePhase => ({
  phase,
  fromMs,
  toMs,
  waitsFor,
  isInferred: false,
});

const anAttempt = (number: number, fromMs: number, toMs: number, outcome: string): DrawnAttempt => ({
  number,
  fromMs,
  toMs,
  outcome,
  isRunning: false,
  isStartUnknown: false,
  deploymentId: undefined,
  failure: null,
});

function aTimeline(
  length: number,
  steps: readonly TimelineStep[],
  changes: Partial<InvocationTimeline> = {},
): InvocationTimeline {
  return {
    id: "inv_1",
    target: "Orders/place",
    status: "completed",
    span: { fromMs: 0, toMs: length },
    isDone: true,
    phases: [aPhase("running", 0, length)],
    sums: [],
    attempts: [],
    steps,
    nextStep: undefined,
    areAttemptsMissing: false,
    isJournalPartial: false,
    ...changes,
  };
}

function pathOf(timeline: InvocationTimeline): CriticalPath {
  const path = criticalPathOf(timeline);
  if (path === undefined) throw new Error("there is no path");
  return path;
}

const segmentsOf = (timeline: InvocationTimeline) =>
  pathOf(timeline).segments.map(({ text, fromMs, toMs }) => [text, fromMs, toMs]);
const CODE = "the handler's code between steps";

describe("the critical path", () => {
  test("of sequential steps has each of them and the code between them", () => {
    const timeline = aTimeline(100, [
      aStep(0, "", 0, 0, { type: "Input" }),
      aStep(1, "a", 10, 30),
      call(2, "Payments/charge", 30, 90),
      aStep(3, "", 100, 100, { type: "Output" }),
    ]);
    expect(segmentsOf(timeline)).toEqual([
      [CODE, 0, 10],
      ["run 'a'", 10, 30],
      ["waiting for Payments/charge", 30, 90],
      [CODE, 90, 100],
    ]);
    expect([...pathOf(timeline).steps]).toEqual([1, 2]);
    expect(pathOf(timeline).parts[0]).toEqual({
      text: "waiting for Payments/charge",
      ms: 60,
      share: 0.6,
      count: 1,
      step: 2,
    });
  });

  test("of parallel steps has the one whose end let the next begin", () => {
    const timeline = aTimeline(400, [
      call(1, "A/a", 0, 100),
      call(2, "B/b", 0, 300),
      aStep(3, "loser", 10, 390),
      aStep(4, "next", 300, 380),
    ]);
    expect(segmentsOf({ ...timeline, steps: timeline.steps.filter(({ index }) => index !== 3) })).toEqual([
      ["waiting for B/b", 0, 300],
      ["run 'next'", 300, 380],
      [CODE, 380, 400],
    ]);
    // A step that ends later than the last one is what the output waited for.
    expect([...pathOf(timeline).steps]).toEqual([3]);
  });

  test("has the outer one of nested waits, and a wait that began later alone after it", () => {
    const nested = aTimeline(300, [call(1, "A/a", 0, 300), aStep(2, "within", 100, 200)]);
    expect(segmentsOf(nested)).toEqual([["waiting for A/a", 0, 300]]);
    const overlapping = aTimeline(300, [call(1, "A/a", 0, 200), aStep(2, "ok?", 150, 300, { type: "GetPromise" })]);
    expect(segmentsOf(overlapping)).toEqual([
      [CODE, 0, 150],
      ["waiting for promise 'ok?'", 150, 300],
    ]);
  });

  test("divides a step that is retried, and the time of failed attempts", () => {
    const phases = [
      aPhase("queued", 0, 10, "lock"),
      aPhase("running", 10, 100),
      aPhase("backing_off", 100, 500),
      aPhase("running", 500, 700),
      aPhase("backing_off", 700, 800),
      aPhase("running", 800, 900),
    ];
    const attempts = [anAttempt(1, 10, 100, "failed"), anAttempt(2, 500, 700, "failed"), anAttempt(3, 800, 900, "completed")];
    const timeline = aTimeline(900, [aStep(1, "charge", 510, 880)], { phases, attempts });
    expect(segmentsOf(timeline)).toEqual([
      ["waiting for its object", 0, 10],
      ["attempts that failed", 10, 100],
      ["waiting for the next attempt", 100, 500],
      ["attempts that failed", 500, 510],
      ["run 'charge'", 510, 700],
      ["waiting for the next attempt", 700, 800],
      ["run 'charge'", 800, 880],
      [CODE, 880, 900],
    ]);
    const [first, second] = pathOf(timeline).parts;
    expect(first).toMatchObject({ text: "waiting for the next attempt", ms: 500, count: 2 });
    expect(second).toMatchObject({ text: "run 'charge'", ms: 270, count: 1, step: 1 });
  });

  test("counts the time before a signal from the last moment at which something happened, and not that before a cancellation", () => {
    const signal = (subject: string) => aStep(2, "", 400, 400, { type: "Signal", subject });
    const request = aStep(1, "request approval", 0, 50);
    expect(segmentsOf(aTimeline(420, [request, signal("#17")]))).toEqual([
      ["run 'request approval'", 0, 50],
      ["waiting for an awakeable", 50, 400],
      [CODE, 400, 420],
    ]);
    expect(segmentsOf(aTimeline(420, [request, signal("cancel")])).at(-1)).toEqual([CODE, 50, 420]);
    // It came while a later step ran, which did not wait for it.
    expect(segmentsOf(aTimeline(500, [request, signal("go"), aStep(3, "long", 50, 500)])).at(-1)).toEqual([
      "run 'long'",
      50,
      500,
    ]);
  });

  test("leaves out steps that have not ended or have no times", () => {
    const steps = [
      aStep(1, "a", 0, 50),
      aStep(2, "", 50, 100, { type: "Sleep", result: "pending" }),
      aStep(3, "b", Number.NaN, Number.NaN),
    ];
    expect([...pathOf(aTimeline(100, steps)).steps]).toEqual([1]);
  });

  test("is unknown for what runs, has further steps, lost its journal or took no time", () => {
    expect(criticalPathOf(aTimeline(100, [], { isDone: false }))).toBeUndefined();
    expect(criticalPathOf(aTimeline(100, [], { nextStep: 1_000 }))).toBeUndefined();
    expect(criticalPathOf(aTimeline(100, [], { isJournalPartial: true }))).toBeUndefined();
    expect(criticalPathOf(aTimeline(0, []))).toBeUndefined();
  });

  test("covers exactly the time of the invocation, whatever the steps are", () => {
    const moment = fc.integer({ min: 0, max: 1_000 });
    const type = fc.constantFrom("Run", "Call", "Signal", "Sleep");
    const phaseName = fc.constantFrom("running" as const, "backing_off" as const, "suspended" as const, "paused" as const);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(moment, moment, type), { maxLength: 30 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 999 }), { maxLength: 6 }),
        fc.array(phaseName, { minLength: 7, maxLength: 7 }),
        (spans, cuts, names) => {
          const steps = spans.map(([a, b, of], index) =>
            aStep(index, "", Math.min(a, b), of === "Signal" ? Math.min(a, b) : Math.max(a, b), { type: of }),
          );
          const edges = [0, ...cuts.sort((a, b) => a - b), 1_000];
          const phases = edges.slice(1).map((to, i) => aPhase(names[i] ?? "running", edges[i] ?? 0, to));
          const { segments, parts } = pathOf(aTimeline(1_000, steps, { phases }));
          let cursorMs = 0;
          for (const { fromMs, toMs } of segments) {
            expect(fromMs).toBe(cursorMs);
            expect(toMs).toBeGreaterThan(fromMs);
            cursorMs = toMs;
          }
          expect(cursorMs).toBe(1_000);
          expect(parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(1_000);
        },
      ),
    );
  });
});
