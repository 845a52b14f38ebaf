import { describe, expect, test } from "@jest/globals";
import { checkLimitKey, checkScope } from "./scope.js";

const longest = "x".repeat(36);

describe("a scope", () => {
  test.each(["a", "A-z_0.9", longest])("%j is fine", (scope) => {
    expect(checkScope(scope)).toBeUndefined();
  });

  test.each([
    ["", "bad scope value: value cannot be empty"],
    [`${longest}x`, "bad scope value: value too long: 37 bytes (max 36)"],
    ["ü".repeat(19), "bad scope value: value too long: 38 bytes (max 36)"],
    ["a b", "bad scope value: value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
    ["a/b", "bad scope value: value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
    ["a\n", "bad scope value: value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
  ])("%j is refused", (scope, message) => {
    expect(checkScope(scope)).toMatchObject({ status: 400, message });
  });
});

describe("a limit key", () => {
  test.each(["a", "a/b", `${longest}/${longest}`])("%j is fine", (limitKey) => {
    expect(checkLimitKey(limitKey)).toBeUndefined();
  });

  test.each([
    ["a/b/c", "invalid limit-key: too many path components in the given limit-key (max 2)"],
    ["a/", "invalid limit-key: invalid limit-key component: value cannot be empty"],
    [`a/${longest}x`, "invalid limit-key: invalid limit-key component: value too long: 37 bytes (max 36)"],
    ["a b", "invalid limit-key: invalid limit-key component: value contains characters outside the allowed set [a-zA-Z0-9_.-]"],
  ])("%j is refused", (limitKey, message) => {
    expect(checkLimitKey(limitKey)).toMatchObject({ status: 400, message });
  });
});
