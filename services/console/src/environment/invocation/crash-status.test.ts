import { expect, test } from "@jest/globals";
import { crashStatusOf, fateOf } from "./crash-status.js";
import type { DrawnAttempt, InvocationTimeline, TimelinePhase, TimelineStep } from "./invocation-timeline.js";

const crash = { journalLength: 5, attemptsBefore: 1 };

function anAttempt(number: number, toMs: number, isRunning = false): DrawnAttempt {
  return { number, isRunning, fromMs: 0, toMs } as DrawnAttempt;
}

function aStep(
  index: number,
  toMs: number,
  changes: { readonly type?: string; readonly result?: TimelineStep["result"] } = {},
): TimelineStep {
  const { type = "Run", result = "success" } = changes;
  return { index, fromMs: 0, toMs, result, view: { type, name: `part ${index}` } } as TimelineStep;
}

function aTimeline(attempts: readonly DrawnAttempt[], changes: Partial<InvocationTimeline> = {}): InvocationTimeline {
  const steps = [aStep(0, 0, { type: "Input" }), aStep(1, 10), aStep(3, 90), aStep(5, 120)];
  return { isDone: false, attempts, steps, phases: [], ...changes } as InvocationTimeline;
}

const cut = anAttempt(1, 50);
const next = anAttempt(2, 100, true);

test("the status follows the invocation from the cut to its end", () => {
  expect(crashStatusOf(crash, aTimeline([anAttempt(1, 60, true)])).stage).toBe("cut");
  expect(crashStatusOf(crash, aTimeline([])).stage).toBe("cut");
  expect(crashStatusOf(crash, aTimeline([cut])).stage).toBe("waiting");
  expect(crashStatusOf(crash, aTimeline([cut, next]))).toEqual({
    stage: "goingOn",
    sentence:
      "Attempt 2 has taken over. The 1 step completed before was replayed from the journal, not run again. " +
      "'part 3', which was interrupted, ran again.",
  });
  expect(crashStatusOf(crash, aTimeline([cut, next], { isDone: true })).stage).toBe("done");
});

test("what was done before the cut is replayed, what was in its middle runs again", () => {
  const timeline = aTimeline([cut, next]);
  expect(timeline.steps.map((step) => fateOf(step, crash, timeline))).toEqual([undefined, "replayed", "rerun", undefined]);
  expect(fateOf(aStep(2, 90, { type: "Sleep" }), crash, timeline)).toBeUndefined();
  expect(fateOf(aStep(2, 40, { result: "pending" }), crash, timeline)).toBe("rerun");
  expect(fateOf(aStep(1, 10), crash, aTimeline([anAttempt(1, 60, true)]))).toBeUndefined();
});

test("an attempt that was cut before it did anything begins again", () => {
  const status = crashStatusOf({ journalLength: 1, attemptsBefore: 1 }, aTimeline([cut, next], { isDone: true }));
  expect(status.sentence).toBe(
    "The attempt was aborted, and the invocation completed anyway. No step was complete, so the handler started from the beginning.",
  );
});

test("what the next attempt waits for is named, also when the attempt that was cut is not listed any more", () => {
  const phase = (name: TimelinePhase["phase"], waitsFor?: string): TimelinePhase => ({
    phase: name,
    waitsFor,
    fromMs: 50,
    toMs: 90,
    isInferred: false,
  });
  const sentence = (changes: Partial<InvocationTimeline>, attempts = [cut]) =>
    crashStatusOf(crash, aTimeline(attempts, changes)).sentence;
  expect(sentence({ phases: [phase("queued", "slot")] })).toContain("waits for a slot: other invocations use all slots");
  expect(sentence({ phases: [phase("queued", "limit")] })).toContain("waits in its queue");
  expect(sentence({ phases: [phase("backing_off")] })).toContain("after the first delay of the retry policy");
  expect(sentence({ phases: [phase("paused")] })).toContain("when it is resumed");
  for (const attempts of [[], [anAttempt(1, 60, true)]]) {
    expect(crashStatusOf(crash, aTimeline(attempts, { phases: [phase("queued", "slot")] })).stage).toBe("waiting");
    expect(crashStatusOf(crash, aTimeline(attempts, { phases: [phase("running")] })).stage).toBe("cut");
  }
});
