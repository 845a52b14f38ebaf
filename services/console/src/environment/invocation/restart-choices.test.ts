import { expect, test } from "@jest/globals";
import type { InvocationTimeline, TimelineStep } from "./invocation-timeline.js";
import { RESTART_CHOICES_MAX } from "./limits.js";
import { keptText, restartChoices } from "./restart-choices.js";

function aStep(index: number, name: string, type = "Run"): TimelineStep {
  return { index, fromMs: 0, toMs: 1, result: "success", view: { type, name, subject: "" } } as TimelineStep;
}

function aTimeline(count: number): InvocationTimeline {
  const pages = Array.from({ length: count }, (_, page) => aStep(page + 1, `page ${page + 1}`));
  const steps = [aStep(0, "", "Input"), ...pages, aStep(count + 1, "", "Output")];
  return { isDone: true, attempts: [], phases: [], steps, nextStep: undefined } as Pick<
    InvocationTimeline,
    "steps"
  > as InvocationTimeline;
}

const valuesOf = (timeline: InvocationTimeline, from: number, search = "") =>
  restartChoices(timeline, from, search).choices.map(({ value }) => value);

test("a short invocation offers its beginning and each step except the output", () => {
  expect(restartChoices(aTimeline(2), 0, "")).toEqual({
    choices: [
      { value: "0", label: "From the beginning" },
      { value: "1", label: "After 1: run page 1" },
      { value: "2", label: "After 2: run page 2" },
    ],
    remark: undefined,
  });
});

test("a long invocation offers its newest steps, and says how many the list leaves out", () => {
  const { choices, remark } = restartChoices(aTimeline(2_000), 0, "");
  expect(choices).toHaveLength(RESTART_CHOICES_MAX + 1);
  expect(choices.at(1)?.value).toBe("1901");
  expect(choices.at(-1)?.value).toBe("2000");
  expect(remark).toBe("The list has the last 100 of 2,000 steps. Search to find the others.");
});

test("a search finds a step of any page, and keeps the step that is chosen", () => {
  expect(valuesOf(aTimeline(2_000), 0, "page 1234")).toEqual(["0", "1234"]);
  expect(valuesOf(aTimeline(2_000), 7, "page 1234")).toEqual(["0", "7", "1234"]);
  expect(restartChoices(aTimeline(2_000), 7, "page 1234").remark).toBe("1 of 2,000 steps match.");
  expect(restartChoices(aTimeline(20), 0, "refund").remark).toBe("No step matches.");
});

test("a step that is not loaded yet can be chosen", () => {
  expect(restartChoices(undefined, 12, "").choices.at(-1)).toEqual({ value: "12", label: "After entry 12" });
  expect(keptText(aTimeline(5), 3)).toContain("the first 3 steps");
  expect(keptText(aTimeline(5), 0)).toContain("runs every step again");
});
