import { expect, test } from "@jest/globals";
import { attemptOf, stepCounts } from "./attempts.js";
import type { DrawnAttempt, InvocationTimeline, TimelineStep } from "./invocation-timeline.js";
import { MINIMAP_BARS } from "./limits.js";
import { centredAt, minimapBars } from "./minimap-layout.js";

const anAttempt = (number: number, fromMs: number, toMs: number, isStartUnknown = false): DrawnAttempt => ({
  number,
  fromMs: isStartUnknown ? toMs : fromMs,
  toMs,
  outcome: "failed",
  isRunning: false,
  isStartUnknown,
  deploymentId: undefined,
  failure: null,
});
const aStep = (index: number, fromMs: number, type = "Run", result: TimelineStep["result"] = "success"): TimelineStep => ({
  index,
  fromMs,
  toMs: fromMs + 1,
  result,
  view: { type } as TimelineStep["view"],
});
const aTimeline = (changes: Partial<InvocationTimeline>): InvocationTimeline => ({
  id: "inv_1",
  target: "Orders/place",
  status: "completed",
  span: { fromMs: 0, toMs: 1_000 },
  isDone: true,
  phases: [],
  sums: [],
  attempts: [anAttempt(1, 10, 100), anAttempt(2, 200, 300), anAttempt(3, 400, 1_000)],
  steps: [],
  nextStep: undefined,
  areAttemptsMissing: false,
  isJournalPartial: false,
  ...changes,
});

test("a step belongs to the attempt in which it began, also when only the end of that is recorded", () => {
  const timeline = aTimeline({
    steps: [aStep(0, 0, "Input"), aStep(1, 20), aStep(2, 90), aStep(3, 210), aStep(4, 500), aStep(5, 500, "Signal")],
  });
  expect(timeline.steps.map((step) => attemptOf(step, timeline))).toEqual([undefined, 1, 1, 2, 3, undefined]);
  expect([...stepCounts(timeline)]).toEqual([
    [1, 2],
    [2, 1],
    [3, 1],
  ]);
  const cut = aTimeline({ attempts: [anAttempt(7, 0, 100, true), anAttempt(8, 200, 300)] });
  expect([aStep(1, 50), aStep(2, 250), aStep(3, 999)].map((step) => attemptOf(step, cut))).toEqual([7, 8, 8]);
});

test("steps of attempts that are not kept any more have no attempt", () => {
  const timeline = aTimeline({ areAttemptsMissing: true, attempts: [anAttempt(9, 200, 300)] });
  expect([aStep(1, 50), aStep(2, 250)].map((step) => attemptOf(step, timeline))).toEqual([undefined, 9]);
  expect(attemptOf(aStep(1, 5), aTimeline({ attempts: [] }))).toBeUndefined();
});

test("the minimap shows where steps began, and which failed", () => {
  const bars = minimapBars(aTimeline({ steps: [aStep(1, 0), aStep(2, 1), aStep(3, 500, "Run", "failure"), aStep(4, 1_000)] }));
  expect(bars).toHaveLength(MINIMAP_BARS);
  expect([bars[0], bars[MINIMAP_BARS / 2], bars.at(-1)]).toEqual([
    { height: 1, hasFailure: false },
    { height: 0.5, hasFailure: true },
    { height: 0.5, hasFailure: false },
  ]);
});

test("the window moves within the whole", () => {
  const whole = { fromMs: 0, toMs: 1_000 };
  const window = { fromMs: 0, toMs: 100 };
  expect([0.5, -1, 2].map((part) => centredAt(window, whole, part).fromMs)).toEqual([450, 0, 900]);
});
