import { expect, test } from "@jest/globals";
import { firstLine, rowOf, targetOf, tookMs } from "./row.js";
import { countsByStatus, countsStatement, headStatement, idsOfHead, rowsStatement } from "./statements.js";

const completed = {
  id: "inv_1",
  target_service_name: "Stock",
  target_service_key: "lamp",
  target_handler_name: "take",
  status: "completed",
  completion_result: "failure",
  completion_failure: "[402] more\nthan the card has",
  last_failure: "older",
  created_at: "2026-11-22T00:00:00Z",
  completed_at: "2026-11-22T00:00:01.5Z",
};

test("a row is parsed, and has its duration", () => {
  const row = rowOf(completed);
  expect(row && [targetOf(row), tookMs(row, 0), firstLine(row.failure ?? ""), row.retries]).toEqual([
    "Stock/lamp/take",
    1_500,
    "[402] more …",
    0,
  ]);
  expect(rowOf({ status: "running" })).toBeUndefined();
});

test("the age of a running invocation follows the clock, and is never negative", () => {
  const row = rowOf({ ...completed, status: "running", target_service_key: undefined, retry_count: 3 });
  expect(row && [targetOf(row), row.retries, tookMs(row, Date.UTC(2026, 10, 22, 0, 1)), tookMs(row, 0)]).toEqual([
    "Stock/take",
    3,
    60_000,
    0,
  ]);
});

test("statements request ids in order, and rows by id", () => {
  expect(headStatement(undefined, "-created")).toBe("SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 200");
  expect(rowsStatement(["a'b"])).toMatch(/WHERE id = 'a''b'$/);
  expect(idsOfHead([{ id: "a" }])).toEqual(["a"]);
});

test("statuses are counted with the results of completed ones", () => {
  expect(countsStatement("retry_count > 3")).toContain("WHERE retry_count > 3 GROUP BY");
  expect(countsStatement(undefined)).not.toContain("WHERE");
  const rows = [
    { status: "running", n: 3 },
    { status: "completed", result: "success", n: "40" },
    { status: "completed", result: "failure", n: 2 },
    { status: "completed", n: 9 },
  ];
  expect([...countsByStatus(rows)]).toEqual([
    ["running", 3],
    ["succeeded", 40],
    ["failed", 2],
  ]);
});
