import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { StepEnd } from "@perdure/invoker";
import { exitCodeOf, runStepsText, textOf } from "./outcome.js";

const label = (type: string, name?: string) => ({ type, name });
const requests = (command: ReturnType<typeof label>, expected?: ReturnType<typeof label>): StepEnd => ({
  kind: "requests",
  command,
  expected,
});
const ERROR = {
  errorCode: "RT0007",
  code: 500,
  message: "broken",
  stacktrace: "broken\n    at a.ts:1\n",
  relatedCommandIndex: undefined,
  relatedCommandName: undefined,
  relatedCommandType: undefined,
};

describe("a requested command", () => {
  test.each([
    ["is the same by type and label", requests(label("Run", "a"), label("Run", "a")), false],
    ["differs by the label of a step", requests(label("Run", "b"), label("Run", "a")), true],
    ["differs by its type", requests(label("Sleep"), label("Call")), true],
    ["differs not by a label that only the SDK has", requests(label("Call", "S/h"), label("Call")), false],
    ["differs not by how state is read", requests(label("GetLazyState"), label("GetEagerState")), false],
    ["is new at the end of the journal", requests(label("Run", "a")), false],
  ])("%s", (_, end, expected) => {
    expect(exitCodeOf(end)).toBe(expected ? 4 : 0);
  });

  test("is named", () => {
    expect(textOf(requests(label("Run", "b"), label("Run", "a")), []).sentence).toBe(
      "The handler requests Run 'b', where the journal has Run 'a'.",
    );
    expect(textOf(requests(label("Call")), []).sentence).toMatch(/no further entry, and nothing was carried out/);
  });
});

test("--run-steps is named where the replay can continue with it", () => {
  const at = (type: string, canContinue: boolean) =>
    runStepsText({ end: requests(label(type)), canContinue, commands: 1, isEnd: true, executed: [] });
  expect(at("Run", true)).toMatch(/^Its result is not in the bundle\. --run-steps executes it/);
  expect(at("GetEagerState", true)).toMatch(/^--run-steps continues from here/);
  expect(at("Call", false)).toBeUndefined();
});

test("a failure has its stack, and a mismatch its entry", () => {
  expect(textOf({ kind: "failed", error: ERROR }, [])).toEqual({
    sentence: "The handler failed: RT0007 broken",
    details: ["    at a.ts:1"],
  });
  const mismatch = {
    kind: "mismatch",
    commandIndex: 1,
    expected: label("Run", "a"),
    actual: label("Sleep"),
    error: ERROR,
  } as const;
  expect(textOf(mismatch, [0, 2]).sentence).toBe(
    "Code and journal differ at command 1 (entry 2): the journal has Run 'a', and the code does Sleep.",
  );
  expect([exitCodeOf(mismatch), exitCodeOf({ kind: "failed", error: ERROR })]).toEqual([4, 3]);
});

test("a result is compared with the Output, and shortened", () => {
  const returned = (isSame: boolean | undefined): StepEnd => ({
    kind: "returns",
    result: { kind: "value", value: utf8("x".repeat(200)) },
    isSame,
  });
  expect(textOf(returned(true), []).sentence).toMatch(/^The handler returns x{80}…, as in the journal\.$/);
  expect([exitCodeOf(returned(false)), exitCodeOf(returned(undefined)), exitCodeOf(returned(true))]).toEqual([4, 0, 0]);
});
