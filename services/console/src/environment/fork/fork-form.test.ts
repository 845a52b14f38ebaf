import { expect, test } from "@jest/globals";
import type { StepView } from "@perdure/admin-client";
import type { TimelineStep } from "../invocation/invocation-timeline.js";
import { firstFields, forkOf, newEdit, problemsOf, sandboxOf, stepLabel, withCut } from "./fork-form.js";

function step(index: number, type: string, name = ""): TimelineStep {
  const view: StepView = {
    index,
    type,
    name,
    subject: "",
    from: "2026-11-27T10:00:00Z",
    to: null,
    duration_ms: 0,
    result: "success",
    failure: null,
    invocation_id: null,
    bytes: null,
    result_bytes: null,
  };
  return { index, fromMs: 0, toMs: 0, result: "success", view };
}

test("a fork from a step edits its result, unless it has none", () => {
  expect(firstFields(5, step(5, "Run", "check"))).toMatchObject({ at: 5, edits: [{ step: 5, kind: "value", text: undefined }] });
  expect(firstFields(4, step(4, "SetState"))).toMatchObject({ at: 4, edits: [] });
  expect(firstFields(0, undefined)).toMatchObject({ at: 0, edits: [], deployment: "keep", isSandbox: false });
  expect(stepLabel(step(5, "Run", "check"))).toBe("5: run check");
  expect(stepLabel(step(0, "Input"))).toBe("0: input");
});

test("only changed values are sent", () => {
  const fields = firstFields(7, step(5, "Run"));
  expect(forkOf(fields)).toEqual({ at: 7, deployment: "keep" });
  const edits = [
    { ...newEdit(0, 5), text: "null" },
    { ...newEdit(1, 3), kind: "failure" as const, code: "409", message: "declined" },
    { ...newEdit(2, 2), kind: "none" as const },
    newEdit(3, 1),
  ];
  expect(forkOf({ ...fields, edits })).toEqual({
    at: 7,
    deployment: "keep",
    edits: [
      { step: 5, value: null },
      { step: 3, failure: { code: 409, message: "declined" } },
      { step: 2, none: true },
    ],
  });
});

test("a cut in front of an edited step leaves the edit out", () => {
  const fields = { ...firstFields(7, step(5, "Run")), edits: [newEdit(0, 5), newEdit(1, 3)] };
  expect(withCut(fields, 4).edits.map(({ step: index }) => index)).toEqual([3]);
});

test("problems are reported at their field, those of stubs only in a sandbox", () => {
  const edits = [
    { ...newEdit(0, 5), text: "{" },
    { ...newEdit(1, 4), kind: "failure" as const, code: "0" },
    newEdit(2, 4),
    { ...newEdit(3, 3), kind: "none" as const, text: "{" },
  ];
  const stubs = [
    { key: 0, target: "Stock", text: "1" },
    { key: 1, target: "Stock/take", text: "one" },
    { key: 2, target: "Stock/take", text: "1" },
  ];
  const fields = { ...firstFields(7, undefined), edits, stubs };
  expect([...problemsOf(fields)]).toEqual([
    ["edit 0", "The value is not JSON."],
    ["edit 1", "Enter a code from 1 to 65535."],
    ["edit 2", "This step has another edit."],
  ]);
  expect([...problemsOf({ ...fields, edits: [], isSandbox: true }).keys()]).toEqual(["stub 0", "stub 1"]);
});

test("stubs are results of handlers", () => {
  const stubs = [{ key: 0, target: " Stock/take ", text: '{"left":3}' }];
  expect(sandboxOf({ ...firstFields(2, undefined), stubs })).toEqual({
    at: 2,
    deployment: "keep",
    stubs: [{ service: "Stock", handler: "take", value: { left: 3 } }],
  });
});
