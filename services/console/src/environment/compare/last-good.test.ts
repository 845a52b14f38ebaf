import { describe, expect, test } from "@jest/globals";
import { compareSteps, type StepView } from "@perdure/admin-client";
import { factsOf } from "../invocation/invocation-facts.js";
import { comparedFacts, deploymentText, differenceTexts, firstDifferences, lastGoodStatement, leftOutText } from "./last-good.js";

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
const texts = (left: readonly StepView[], right: readonly StepView[], isOver = true) =>
  differenceTexts(firstDifferences(compareSteps(left, right, { areKeysIgnored: true })), isOver);

test("the statement finds the newest good run of the handler, and quotes names", () => {
  const statement = lastGoodStatement({ id: "inv_1", service: "O'Hara", handler: "place" });
  expect(statement).toContain("target_service_name = 'O''Hara' AND target_handler_name = 'place'");
  expect(statement).toContain("id <> 'inv_1' ORDER BY completed_at DESC LIMIT 1");
});

describe("where two runs first differ", () => {
  const [input, charge, output] = [step(0, "Input", "", { bytes: 5 }), step(1, "Run", "charge"), step(2, "Output", "")];

  test("runs without a difference", () => {
    expect(texts([input, charge, output], [input, charge, output])).toEqual(["All compared steps are the same in both runs."]);
  });

  test("a value first, and later an outcome", () => {
    const failed = step(1, "Run", "charge", { result: "failure", failure: { code: 402, message: "no money" } });
    expect(texts([input, charge, output], [{ ...input, bytes: 7 }, failed])).toEqual([
      "The runs first differ at input (entry 0): another input.",
      "The first step with another outcome is run 'charge' (entry 1): succeeded in the last good run, failed in this run with [402] no money.",
    ]);
  });

  test("a step that this run lacks is not reached as long as the run continues", () => {
    expect(texts([input, charge], [input], false)).toEqual([
      "The first step with another outcome is run 'charge' (entry 1): this run has not reached it.",
    ]);
    expect(texts([input, charge], [input])).toEqual([
      "The first step with another outcome is run 'charge' (entry 1): this run has no such step.",
    ]);
  });

  test("calls of one handler with other keys are one step", () => {
    const call = (subject: string) => step(1, "Call", "", { subject });
    expect(texts([input, call("Stock/sofa/take")], [input, call("Stock/boat/take")])).toEqual([
      "The runs first differ at call 'Stock/boat/take' (entry 1): Stock/sofa/take before, Stock/boat/take now.",
      "No step has another outcome.",
    ]);
  });
});

test("what is left out of long runs is said", () => {
  expect(leftOutText(false, false)).toBeUndefined();
  expect(leftOutText(true, false)).toBe("The first 1,000 steps are compared. Later steps of the last good run are left out.");
  expect(leftOutText(true, true)).toContain("Later steps of both runs");
});

test("versions are listed where they differ", () => {
  const row = (deployment: string, sdk: string, completed: string | null) =>
    factsOf({
      id: "inv_1",
      target_service_ty: "service",
      created_at: "2026-11-27T08:00:00.000Z",
      completed_at: completed,
      pinned_deployment_id: deployment,
      last_attempt_server: sdk,
      invoked_by: "ingress",
    });
  const good = row("dp_1", "sdk/1", "2026-11-27T08:00:02.000Z");
  const now = row("dp_2", "sdk/1", null);
  expect(comparedFacts(good, now, Date.parse("2026-11-27T08:00:09.000Z"))).toEqual([
    { name: "Duration", good: "2 s", now: "9 s so far", isOther: false },
    { name: "Deployment", good: "dp_1", now: "dp_2", isOther: true },
  ]);
  expect(deploymentText(good, now)).toBe("They ran on different deployments.");
  expect(deploymentText(good, good)).toBe("Both ran on the same deployment.");
});
