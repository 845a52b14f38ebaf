import { expect, test } from "@jest/globals";
import { compareSteps, type StepView } from "@perdure/admin-client";
import { comparisonLines } from "./compare.js";

const step = (index: number, name: string, text: string, change: Partial<StepView> = {}): StepView => ({
  index,
  type: "Run",
  name,
  subject: "",
  from: "2026-11-27T08:00:00.000Z",
  to: null,
  duration_ms: null,
  result: "success",
  failure: null,
  invocation_id: null,
  bytes: null,
  result_bytes: text.length,
  result_payload: { text, cut: false },
  ...change,
});
const failed = { result: "failure", failure: { code: 409, message: "no\u001b[31m" }, result_payload: null } as const;

const compared = (left: readonly StepView[], right: readonly StepView[]) => ({
  left: "inv_a",
  right: "inv_b",
  statuses: { left: "failed", right: "completed" },
  steps: compareSteps(left, right),
});
const lines = (value: Parameters<typeof comparisonLines>[0], all = false) => comparisonLines(value, all, (_style, text) => text);

test("a comparison shows what differs, and counts what does not", () => {
  const left = [step(0, "a", "1"), step(1, "b", "2"), step(3, "c", "true"), step(5, "refund", "", failed)];
  const right = [step(0, "a", "1"), step(1, "b", "2"), step(4, "c", "false"), step(6, "ship", '"ok"')];
  expect(lines(compared(left, right))).toEqual([
    "- inv_a  failed",
    "+ inv_b  completed",
    "  = 2 steps as before",
    "  ~ 3/4  Run 'c': true → false",
    "  - 5  Run 'refund': [409] no",
    `  + 6  Run 'ship': "ok"`,
  ]);
  expect(lines(compared(left.slice(0, 1), right.slice(0, 1)), true)).toContain("  = 0  Run 'a'");
});

test("what both called stands under the step that called it", () => {
  const value = compared([step(1, "b", "2")], [step(1, "b", "3")]);
  const callees = { ...compared([step(0, "in", "1")], []), left: "inv_c", right: "inv_d" };
  expect(lines({ ...value, steps: value.steps.map((each) => ({ ...each, callees })) })).toEqual([
    "- inv_a  failed",
    "+ inv_b  completed",
    "  ~ 1  Run 'b': 2 → 3",
    "    - inv_c  failed",
    "    + inv_d  completed",
    "      - 0  Run 'in': 1",
  ]);
});
