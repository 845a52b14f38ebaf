import { expect, test } from "@jest/globals";
import { expiresAt, makerWords, rateProblem } from "./key-words.js";

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

test("who made a key is told by name, and told to be no member any more only when that is known", () => {
  const members = [
    { userId: "user_ada", email: "ada@perdure.test", name: "Ada" },
    { userId: "user_bo", email: "bo@perdure.test" },
  ];
  const words = (userId: string, known: typeof members | undefined) => makerWords(userId, "user_ada", known);
  expect(words("user_ada", members)).toBe("by you");
  expect(words("user_bo", members)).toBe("by bo@perdure.test");
  expect(makerWords("user_ada", "user_bo", members)).toBe("by Ada");
  expect(words("user_cy", members)).toBe("by user_cy (former member)");
  expect(words("user_cy", undefined)).toBe("by user_cy");
});
