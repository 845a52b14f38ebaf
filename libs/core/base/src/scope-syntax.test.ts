import { describe, expect, test } from "@jest/globals";
import { limitKeyProblem, scopeProblem } from "./index.js";

const longest = "x".repeat(36);

describe("a scope", () => {
  test.each(["s1", "A-b_c.9", longest])("%j is fine", (scope) => {
    expect(scopeProblem(scope)).toBeUndefined();
  });

  test.each([
    ["", "value cannot be empty"],
    [`${longest}x`, "value too long: 37 bytes (max 36)"],
    ["ü".repeat(19), "value too long: 38 bytes (max 36)"],
    ["a b", "value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
    ["a/b", "value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
    ["a@b", "value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
  ])("%j is refused: %s", (scope, problem) => {
    expect(scopeProblem(scope)).toBe(problem);
  });
});

describe("a limit key", () => {
  test.each(["a", "a/b", `${longest}/${longest}`])("%j is fine", (limitKey) => {
    expect(limitKeyProblem(limitKey)).toBeUndefined();
  });

  test.each([
    ["a/b/c", "too many path components in the given limit-key (max 2)"],
    ["a/", "invalid limit-key component: value cannot be empty"],
    [`a/${longest}x`, "invalid limit-key component: value too long: 37 bytes (max 36)"],
    ["a b", "invalid limit-key component: value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
  ])("%j is refused: %s", (limitKey, problem) => {
    expect(limitKeyProblem(limitKey)).toBe(problem);
  });
});
