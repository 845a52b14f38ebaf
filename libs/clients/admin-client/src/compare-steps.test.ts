import { describe, expect, test } from "@jest/globals";
import { compareSteps } from "./compare-steps.js";
import type { StepView } from "./views.js";

const step = (index: number, type: string, name: string, change: Partial<StepView> = {}): StepView => ({
  index,
  type,
  name,
  subject: "",
  from: "2026-11-27T08:00:00.000Z",
  to: "2026-11-27T08:00:01.000Z",
  duration_ms: 1_000,
  result: "success",
  failure: null,
  invocation_id: null,
  bytes: null,
  result_bytes: null,
  ...change,
});
const value = (text: string): Partial<StepView> => ({ result_bytes: text.length, result_payload: { text, cut: false } });

const differences = (left: readonly StepView[], right: readonly StepView[]) =>
  compareSteps(left, right).map(({ difference, left: a, right: b }) => [difference, a?.index, b?.index]);

describe("two journals are compared step by step", () => {
  const [input, check] = [step(0, "Input", ""), step(1, "Run", "check", value("false"))];

  test("a step with another result is changed, numbers and times do not matter", () => {
    const edited = step(1, "Run", "check", value("true!"));
    expect(differences([input, check], [input, edited])).toEqual([
      ["same", 0, 0],
      ["changed", 1, 1],
    ]);
    expect(differences([input, check], [input, { ...check, index: 9, duration_ms: 5 }])).toEqual([
      ["same", 0, 0],
      ["same", 1, 9],
    ]);
  });

  test("steps that only one side has stand where they happened", () => {
    const [refund, ship, output] = [step(3, "Run", "refund"), step(3, "Run", "ship"), step(5, "Output", "")];
    expect(differences([input, check, refund, output], [input, ship, check, output])).toEqual([
      ["same", 0, 0],
      ["right", undefined, 3],
      ["same", 1, 1],
      ["left", 3, undefined],
      ["same", 5, 5],
    ]);
  });

  test("a failure with another message is changed, and so is a step that has not ended", () => {
    const failed = (message: string) => step(1, "Run", "check", { result: "failure", failure: { code: 500, message } });
    expect(differences([failed("a")], [failed("b")])).toEqual([["changed", 1, 1]]);
    expect(differences([failed("a")], [failed("a")])).toEqual([["same", 1, 1]]);
    expect(differences([check], [{ ...check, result: "pending" }])).toEqual([["changed", 1, 1]]);
  });

  test("with keys ignored, calls of one handler and steps about ids are paired and count as changed", () => {
    const call = (subject: string) => step(1, "Call", "", { subject });
    const attach = (subject: string) => step(2, "AttachInvocation", "", { subject });
    const [left, right] = [
      [call("Stock/a/b/take"), attach("inv_1")],
      [call("Stock/c/take"), attach("inv_2")],
    ];
    expect(compareSteps(left, right, { areKeysIgnored: true }).map(({ difference }) => difference)).toEqual([
      "changed",
      "changed",
    ]);
    expect(compareSteps(left, right).map(({ difference }) => difference)).toEqual(["left", "left", "right", "right"]);
    const other = [call("Stock/c/count"), attach("inv_1")];
    expect(compareSteps(left, other, { areKeysIgnored: true }).map(({ difference }) => difference)).toEqual([
      "left",
      "right",
      "same",
    ]);
  });

  test("an empty side", () => {
    expect(differences([], [input])).toEqual([["right", undefined, 0]]);
    expect(differences([input], [])).toEqual([["left", 0, undefined]]);
    expect(differences([], [])).toEqual([]);
  });
});
