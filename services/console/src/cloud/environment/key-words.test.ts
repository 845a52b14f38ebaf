import { expect, test } from "@jest/globals";
import { expiresAt, rateProblem } from "./key-words.js";

test("keys end after whole days, or never", () => {
  expect(expiresAt("30", 1_000_500)).toBe(1_000 + 30 * 86_400);
  expect(expiresAt("never", 1_000_500)).toBeUndefined();
});

test.each([
  ["", true],
  ["1", true],
  ["100000", true],
  ["100001", false],
  ["0", false],
  ["1.5", false],
  ["ten", false],
])("a rate of %j is fine: %s", (text, isFine) => expect(rateProblem(text) === undefined).toBe(isFine));
