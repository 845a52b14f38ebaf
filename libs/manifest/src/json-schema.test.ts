import { expect, test } from "@jest/globals";
import { describeJsonSchema } from "./json-schema.js";

test.each([
  [{ type: "object" }, "JSON object"],
  [{ type: "string" }, "JSON string"],
  [{ type: ["string", "null"] }, "JSON value"],
  [{ anyOf: [] }, "JSON value"],
  [true, "JSON value"],
])("%j is described as %s", (schema, words) => {
  expect(describeJsonSchema(schema)).toBe(words);
});
