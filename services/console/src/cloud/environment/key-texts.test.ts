import { expect, test } from "@jest/globals";
import { expiresAt, makerText, rateProblem } from "./key-texts.js";

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

test("the user who made a key is shown by name, and as no member any more only when members are loaded", () => {
  const members = [
    { userId: "user_ada", email: "ada@perdure.test", name: "Ada" },
    { userId: "user_bo", email: "bo@perdure.test" },
  ];
  const textFor = (userId: string, list: typeof members | undefined) => makerText(userId, "user_ada", list);
  expect(textFor("user_ada", members)).toBe("by you");
  expect(textFor("user_bo", members)).toBe("by bo@perdure.test");
  expect(makerText("user_ada", "user_bo", members)).toBe("by Ada");
  expect(textFor("user_cy", members)).toBe("by user_cy (former member)");
  expect(textFor("user_cy", undefined)).toBe("by user_cy");
});
