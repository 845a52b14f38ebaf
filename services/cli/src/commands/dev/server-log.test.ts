import { expect, test } from "@jest/globals";
import { entryOf, textOf } from "./server-log.js";

const failed = {
  level: "warn",
  msg: "attempt failed",
  code: "RT0007",
  invocationId: "inv_1a",
  target: "Greeter/greet",
  attempt: 3,
  reason: "undefined is not a\u001b[31m function",
  command: "charge",
  action: "retry",
};

test("a failed attempt is shown with handler, step, message, invocation and the next command", () => {
  const line = JSON.stringify(failed);
  expect(textOf(line, entryOf(line))).toBe(
    "warn: RT0007 attempt 3 of Greeter/greet failed at 'charge': undefined is not a function (inv_1a, retry). See: perdure explain inv_1a",
  );
});

test("a journal that the code does not fit comes with the two ways out", () => {
  const line = JSON.stringify({ ...failed, code: "RT0016", command: undefined });
  expect(textOf(line, entryOf(line))).toContain("perdure invocations restart inv_1a, perdure invocations kill inv_1a");
});

test("other lines keep their message and reason, and what is not JSON stays as it is", () => {
  const line = JSON.stringify({ level: "error", msg: "commit failed", code: "STO0001", reason: "disk" });
  expect(textOf(line, entryOf(line))).toBe("error: STO0001 commit failed: disk");
  expect(textOf("{broken", entryOf("{broken"))).toBe("{broken");
  expect(textOf("plain", entryOf("plain"))).toBe("plain");
});
