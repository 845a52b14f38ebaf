import { mock } from "node:test";
import { afterEach, expect, test } from "@jest/globals";
import { until } from "./until.js";

afterEach(() => mock.restoreAll());

test("resolves when the condition holds, at once or later", async () => {
  await until(() => true);
  let checks = 0;
  await until(async () => ++checks === 3);
  expect(checks).toBe(3);
});

test("names a condition that does not hold in time, and rejects with the error of a check", async () => {
  let nowMs = 0;
  mock.method(performance, "now", () => {
    nowMs += 1_000;
    return nowMs;
  });
  let checks = 0;
  const never = (): boolean => {
    checks++;
    return false;
  };
  await expect(until(never, "it rains")).rejects.toThrow("it rains");
  expect(checks).toBeGreaterThan(1_000); // Time alone does not end it: the machine may have stood still.
  await expect(until(() => Promise.reject(new TypeError("a defect")))).rejects.toThrow("a defect");
});
