/** An operation keeps its types in SQL: times are timestamps, and what is not set is absent. */
import { afterAll, expect, test } from "@jest/globals";
import type { IntrospectionSource, LiveRows, OperationRow } from "../src/ports.js";
import { anEngine, rowsOf } from "./querying.js";

const AT = Date.parse("2026-11-21T12:00:00Z");
const undoable: OperationRow = {
  id: "op_1",
  operation: "kill",
  target: "inv_1",
  filter: undefined,
  batchId: undefined,
  startedBy: undefined,
  reason: undefined,
  state: "undoable",
  startedAtMs: AT,
  undoUntilMs: AT + 600_000,
  matchedCount: 1,
  undo: undefined,
};
const undone: OperationRow = {
  ...undoable,
  id: "op_2",
  target: undefined,
  filter: "status = 'paused'",
  batchId: "bat_1",
  startedBy: "me",
  reason: "a mistake",
  state: "undone",
  matchedCount: 3,
  undo: { startedAtMs: AT + 1000, batchId: "bat_2", undoneCount: 2, failedCount: 1, cannotBeUndone: ["A client has it."] },
};
/** All that this table reads. */
const live = { operations: () => [undoable, undone] } as unknown as LiveRows;
const engine = anEngine({ partitionCount: 1, isOneMoment: true, store: {}, live } as unknown as IntrospectionSource);
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
});

test("an operation is a row of sys_operation", async () => {
  expect(await rowsOf(engine, "select * from sys_operation order by id")).toEqual([
    {
      id: "op_1",
      operation: "kill",
      target: "inv_1",
      state: "undoable",
      started_at: "2026-11-21T12:00:00Z",
      undo_until: "2026-11-21T12:10:00Z",
      matched: 1,
    },
    {
      id: "op_2",
      operation: "kill",
      filter: "status = 'paused'",
      batch_id: "bat_1",
      started_by: "me",
      reason: "a mistake",
      state: "undone",
      started_at: "2026-11-21T12:00:00Z",
      undo_until: "2026-11-21T12:10:00Z",
      matched: 3,
      undo_started_at: "2026-11-21T12:00:01Z",
      undo_batch_id: "bat_2",
      undone: 2,
      failed: 1,
      cannot_be_undone: ["A client has it."],
    },
  ]);
});
