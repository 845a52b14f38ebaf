import { expect, test } from "@jest/globals";
import { awakeablesOf } from "./waiting.js";

const row = { id: "inv_16PkDjf08BeJ39PCAj5KdoEJUas0Q7MrO9", target: "Orders/approve", status: "suspended" };

test("awakeables are found at every depth of the tree; other signals and completions are left out", () => {
  const tree = {
    Unknown: [
      { Single: { SignalIndex: 1 } },
      { AllCompleted: [{ Single: { SignalIndex: 18 } }, { Single: { SignalIndex: 17 } }] },
      { Single: { CompletionId: 19 } },
    ],
  };
  const awakeables = awakeablesOf([
    { ...row, modified_at: "2026-11-22T01:18:49Z", suspended_waiting_future_json: JSON.stringify(tree) },
  ]);
  expect(awakeables.map(({ id }) => id.slice(-3))).toEqual(["AEQ", "AEg"]);
  expect(awakeables[0]).toMatchObject({ invocationId: row.id, target: "Orders/approve", since: "2026-11-22T01:18:49Z" });
});

test("a running invocation waits as last reported; one that waits for nothing has no awakeables", () => {
  const running = { ...row, status: "running", last_awaiting_on_future_json: '{"Unknown":[{"Single":{"SignalIndex":17}}]}' };
  expect(awakeablesOf([running, row])).toHaveLength(1);
});
