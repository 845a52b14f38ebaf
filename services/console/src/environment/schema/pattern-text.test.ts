import { expect, test } from "@jest/globals";
import { exampleOf } from "./example.js";
import { textOfPattern } from "./pattern-text.js";
import { problemsOf } from "./validate.js";

test.each([
  ["^\\d{5}$", "11111"],
  ["^[A-Z]{2}-[0-9]+$", "AA-0"],
  ["^(card|cash)$", "card"],
  ["^#[0-9a-f]{6}$", "#000000"],
  ["^\\+?[1-9]\\d{1,14}$", "11"],
  ["^(?:DE|AT)\\d{2}( \\d{4}){2}$", "DE11 1111 1111"],
  ["^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", "a@a.aa"],
  ["lamp", "lamp"],
])("%s allows %j", (pattern, text) => expect(textOfPattern(pattern)).toBe(text));

test.each(["^(?=a)b$", "(?<bad", "[", "^\\p{L}{200}$", "^a{1000}$", `^${"a".repeat(300)}$`, "(a)\\1x(?!y)"])(
  "%s is left to the user, or has a text that matches",
  (pattern) => {
    const text = textOfPattern(pattern);
    if (text !== undefined) expect(text).toMatch(new RegExp(pattern, "u"));
  },
);

test("an example of a text with a pattern or a length fits it", () => {
  const schema = {
    type: "object",
    required: ["zip", "name", "code"],
    properties: {
      zip: { type: "string", pattern: "^\\d{5}$" },
      name: { type: "string", minLength: 8, maxLength: 10 },
      code: { type: "string", maxLength: 2 },
    },
  };
  expect(exampleOf(schema)).toEqual({ zip: "11111", name: "text text", code: "te" });
  expect(problemsOf(exampleOf(schema), schema)).toEqual([]);
});
