import { expect, test } from "@jest/globals";
import { schemaInside } from "./schema-inside.js";

const PLACE = "#/components/schemas/greetRequest";

test.each<[string, unknown, unknown]>([
  [
    "definitions, and what they refer to in turn",
    { $ref: "#/$defs/A", $defs: { A: { properties: { b: { $ref: "#/$defs/B" } } }, B: { type: "string" } } },
    { $ref: `${PLACE}/$defs/A`, $defs: { A: { properties: { b: { $ref: `${PLACE}/$defs/B` } } }, B: { type: "string" } } },
  ],
  ["the whole schema", { items: { $ref: "#" } }, { items: { $ref: PLACE } }],
  ["alternatives", { anyOf: [{ $ref: "#/definitions/A" }] }, { anyOf: [{ $ref: `${PLACE}/definitions/A` }] }],
  [
    "properties named like keywords",
    { properties: { $ref: { type: "string" }, default: { $ref: "#/$defs/A" } } },
    { properties: { $ref: { type: "string" }, default: { $ref: `${PLACE}/$defs/A` } } },
  ],
  [
    "mappings of discriminators",
    { discriminator: { propertyName: "kind", mapping: { a: "#/$defs/A", b: "B" } } },
    { discriminator: { propertyName: "kind", mapping: { a: `${PLACE}/$defs/A`, b: "B" } } },
  ],
])("references move: %s", (_what, schema, expected) => {
  const before = structuredClone(schema);
  expect(schemaInside(schema, PLACE)).toEqual(expected);
  expect(schema).toEqual(before);
});

test.each<[string, unknown]>([
  ["data", { enum: [{ $ref: "#/x" }], default: { $ref: "#/x" }, const: { $ref: "#/x" }, examples: [{ $ref: "#/x" }] }],
  ["anchors", { $ref: "#order" }],
  ["other documents", { $ref: "https://schemas.example/order#/$defs/A" }],
  ["what is not a reference", { $ref: 5, discriminator: "x", properties: [] }],
  ["schemas that are booleans", true],
])("%s stay as they are", (_what, schema) => {
  expect(schemaInside(schema, PLACE)).toEqual(schema);
});
