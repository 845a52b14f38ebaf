import { expect, test } from "@jest/globals";
import { resultsOf, resultsStatement } from "./run-results.js";

const schedule = (id: string, last: string | null, recent: readonly (string | null)[]) => ({
  id,
  last_invocation_id: last,
  recent: recent.map((invocation_id) => ({ invocation_id })),
});

test("the last run of each schedule is read, and the recent ones of the open schedule, each once", () => {
  const all = [schedule("a", "inv_2", ["inv_2", "inv_1", null]), schedule("b", "inv_3", ["inv_3", "inv_0"])];
  expect(resultsStatement(all, null)).toContain("id IN ('inv_2', 'inv_3')");
  expect(resultsStatement(all, "a")).toContain("id IN ('inv_2', 'inv_1', 'inv_3')");
});

test("nothing is read when no schedule has fired", () => {
  expect(resultsStatement([], null)).toBeUndefined();
  expect(resultsStatement([schedule("a", null, [])], "a")).toBeUndefined();
});

test("results are found by invocation", () => {
  const results = resultsOf([
    { id: "inv_1", status: "completed", completion_result: "failure", completion_failure: "[500] broken" },
    { id: "inv_2", status: "running" },
  ]);
  expect(results.get("inv_1")).toEqual({ status: "completed", result: "failure", failure: "[500] broken" });
  expect(results.get("inv_2")).toEqual({ status: "running", result: undefined, failure: undefined });
  expect(results.get("inv_3")).toBeUndefined();
});
