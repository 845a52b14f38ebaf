import { expect, test } from "@jest/globals";
import { originsOf, originsProblem } from "./origins.js";

test("origins are one a line, and a slash at their end is ignored", () => {
  expect(originsOf("https://app.example/\n\n http://localhost:3000 , *")).toEqual([
    "https://app.example",
    "http://localhost:3000",
    "*",
  ]);
});

test.each([
  ["", true],
  ["*", true],
  ["https://app.example", true],
  ["app.example", false],
  ["https://app.example/path", false],
  ["javascript:alert(1)", false],
  ["https://me@app.example", false],
])("%j is fine: %s", (text, isFine) => expect(originsProblem(text) === undefined).toBe(isFine));
