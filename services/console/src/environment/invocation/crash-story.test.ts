import { expect, test } from "@jest/globals";
import { fateOf, storyOf } from "./crash-story.js";
import type { AttemptSpan, Life, StepSpan } from "./life.js";

const crash = { journalLength: 5, attemptsBefore: 1 };

function anAttempt(number: number, toMs: number, isRunning = false): AttemptSpan {
  return { number, isRunning, fromMs: 0, toMs } as AttemptSpan;
}

function aStep(
  index: number,
  toMs: number,
  changes: { readonly type?: string; readonly result?: StepSpan["result"] } = {},
): StepSpan {
  const { type = "Run", result = "success" } = changes;
  return { index, fromMs: 0, toMs, result, view: { type, name: `part ${index}` } } as StepSpan;
}

function aLife(attempts: readonly AttemptSpan[], changes: Partial<Life> = {}): Life {
  const steps = [aStep(0, 0, { type: "Input" }), aStep(1, 10), aStep(3, 90), aStep(5, 120)];
  return { isDone: false, attempts, steps, ...changes } as Life;
}

const cut = anAttempt(1, 50);
const next = anAttempt(2, 100, true);

test("the story follows the invocation from the cut to its end", () => {
  expect(storyOf(crash, aLife([anAttempt(1, 60, true)])).stage).toBe("cut");
  expect(storyOf(crash, aLife([])).stage).toBe("cut");
  expect(storyOf(crash, aLife([cut])).stage).toBe("waiting");
  expect(storyOf(crash, aLife([cut, next]))).toEqual({
    stage: "goingOn",
    sentence:
      "Attempt 2 has taken over. The 1 step completed before was replayed from the journal, not run again. " +
      "'part 3', which was interrupted, ran again.",
  });
  expect(storyOf(crash, aLife([cut, next], { isDone: true })).stage).toBe("done");
});

test("what was done before the cut is replayed, what was in its middle runs again", () => {
  const life = aLife([cut, next]);
  expect(life.steps.map((step) => fateOf(step, crash, life))).toEqual([undefined, "replayed", "rerun", undefined]);
  expect(fateOf(aStep(2, 90, { type: "Sleep" }), crash, life)).toBeUndefined();
  expect(fateOf(aStep(2, 40, { result: "pending" }), crash, life)).toBe("rerun");
  expect(fateOf(aStep(1, 10), crash, aLife([anAttempt(1, 60, true)]))).toBeUndefined();
});

test("an attempt that was cut before it did anything begins again", () => {
  const story = storyOf({ journalLength: 1, attemptsBefore: 1 }, aLife([cut, next], { isDone: true }));
  expect(story.sentence).toBe(
    "The attempt was aborted, and the invocation completed anyway. No step was complete, so the handler started from the beginning.",
  );
});
