import { expect, test } from "@jest/globals";
import { silentLogger } from "./index.js";

test("the silent logger takes every call and stays silent as a child", () => {
  const child = silentLogger.child({ invocationId: "inv_1" });
  for (const level of ["debug", "info", "warn", "error"] as const) expect(child[level]({ n: 1 }, "said")).toBeUndefined();
  expect(child.child({})).toBe(silentLogger);
});
