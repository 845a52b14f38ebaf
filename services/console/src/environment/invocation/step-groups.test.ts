import { expect, test } from "@jest/globals";
import type { StepView } from "@perdure/admin-client";
import type { TimelineStep } from "./invocation-timeline.js";
import { GROUPED_STEPS_MIN } from "./limits.js";
import { groupedSteps, groupText, isMatch } from "./step-groups.js";

function aStep(index: number, name: string, changes: Partial<StepView> = {}): TimelineStep {
  const view = { index, type: "Run", name, subject: "", result: "success", ...changes } as StepView;
  return { fromMs: index, toMs: index + 1, index, result: view.result, view };
}

const pages = (from: number, count: number) => Array.from({ length: count }, (_, i) => aStep(from + i, `page ${from + i}`));

test("steps that differ in numbers only share a group, in their order", () => {
  const [input, group, last] = groupedSteps([aStep(0, "", { type: "Input" }), ...pages(1, 894), aStep(895, "send the report")]);
  expect(input).toMatchObject({ index: 0 });
  expect(last).toMatchObject({ index: 895 });
  expect(group).toMatchObject({ steps: { length: 894 } });
  if (group === undefined || !("steps" in group)) throw new Error("no group");
  expect(groupText(group)).toBe("run page 1 … page 894");
});

test("few like steps stay alone", () => {
  expect(groupedSteps(pages(1, GROUPED_STEPS_MIN - 1))).toHaveLength(GROUPED_STEPS_MIN - 1);
  expect(groupedSteps(pages(1, GROUPED_STEPS_MIN))).toHaveLength(1);
});

test("pending and failed steps are never in a group", () => {
  const failed = aStep(21, "page 21", { result: "failure" });
  const pending = aStep(42, "page 42", { result: "pending" });
  const parts = groupedSteps([...pages(1, 20), failed, ...pages(22, 20), pending]);
  expect(parts.map((part) => ("steps" in part ? part.steps.length : part.index))).toEqual([20, 21, 20, 42]);
});

test("no step is lost", () => {
  const steps = [...pages(1, 15), aStep(16, "x"), ...pages(17, 3)];
  expect(groupedSteps(steps).flatMap((part) => ("steps" in part ? part.steps : [part]))).toEqual(steps);
});

test("steps match by kind, name and subject", () => {
  expect(isMatch(aStep(1, "charge the card"), " CARD ")).toBe(true);
  expect(isMatch(aStep(1, "", { type: "Call", subject: "Payments/charge" }), "payments")).toBe(true);
  expect(isMatch(aStep(1, "", { type: "GetLazyState", subject: "cart" }), "read state")).toBe(true);
  expect(isMatch(aStep(1, "charge the card"), "refund")).toBe(false);
});
