import { expect, test } from "@jest/globals";
import { describeJsonSchema } from "./json-schema.js";

test.each([
  [{ type: "object" }, "JSON object"],
  [{ type: "string" }, "JSON string"],
  [{ type: "object", title: "Order" }, "JSON 'Order'"],
  [{ title: "Order", anyOf: [] }, "JSON 'Order'"],
  [{ type: "string", title: "" }, "JSON string"],
  [{ type: ["string", "null"] }, undefined],
  [{ anyOf: [] }, undefined],
  [true, undefined],
])("%j is described as %s", (schema, description) => {
  expect(describeJsonSchema(schema)).toBe(description);
});
