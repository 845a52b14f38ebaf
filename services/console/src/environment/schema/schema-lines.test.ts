import { expect, test } from "@jest/globals";
import { read } from "./json-schema.js";
import { schemaLines, schemaTypeText } from "./schema-lines.js";

const ORDER = {
  type: "object",
  required: ["item", "lines"],
  properties: {
    item: { type: "string", description: "What", minLength: 1 },
    amount: { type: "integer", minimum: 1, maximum: 10_000, default: 1 },
    speed: { enum: ["normal", "express"] },
    note: { anyOf: [{ type: "string" }, { type: "null" }], description: "For the packer" },
    lines: { type: "array", items: { $ref: "#/$defs/Line" }, maxItems: 5 },
    buyer: { $ref: "#/$defs/Person" },
  },
  $defs: {
    Line: { type: "object", properties: { sku: { type: "string", format: "uuid" } }, required: ["sku"] },
    Person: { type: "object", properties: { name: { type: ["string", "null"] }, friend: { $ref: "#/$defs/Person" } } },
  },
};

test("has a line for each field, those within lists and objects too", () => {
  const lines = schemaLines(ORDER).filter(({ path }) => !path.startsWith("buyer.friend."));
  expect(lines.map(({ path, type, isRequired, limits }) => [path, type, isRequired, limits.join("; ")])).toEqual([
    ["item", "string", true, "at least 1 character"],
    ["amount", "integer", false, "1 to 10,000; default 1"],
    ["speed", 'one of "normal", "express"', false, ""],
    ["note", "string or null", false, ""],
    ["lines", "list of object", true, "at most 5 items"],
    ["lines[].sku", "uuid", true, ""],
    ["buyer", "object", false, ""],
    ["buyer.name", "string or null", false, ""],
    ["buyer.friend", "object", false, ""],
  ]);
  expect(lines[3]?.description).toBe("For the packer");
});

test.each([
  [{ type: "array", minItems: 1 }, "at least 1 item"],
  [{ type: "array", maxItems: 1 }, "at most 1 item"],
  [{ type: "array", minItems: 1, maxItems: 5 }, "1 to 5 items"],
  [{ type: "string", format: "email", pattern: "^[^@]+@[^@]+$" }, ""],
  [{ type: "string", pattern: "^a$" }, "pattern /^a$/"],
])("limits of %j are readable", (field, limits) => {
  const [line] = schemaLines({ type: "object", properties: { field } });
  expect(line?.limits.join("; ")).toBe(limits);
});

test("what contains itself ends", () => {
  expect(schemaLines(ORDER).length).toBeLessThan(40);
  expect(schemaTypeText({ $ref: "#" }, { $ref: "#" })).toBe("anything");
  const list = { $ref: "#/$defs/L", $defs: { L: { type: "array", items: { $ref: "#/$defs/L" } } } };
  expect(schemaTypeText(list, list)).toMatch(/^list of list of .*…$/);
});

test.each([
  [{ type: "string", nullable: true }, "string or null"],
  [{ type: ["integer", "null"] }, "integer or null"],
  [{ oneOf: [{ type: "string" }, { type: "number" }] }, "string or number"],
  [{ allOf: [{ $ref: "#/d" }], description: "x" }, "boolean"],
  [{ const: 5 }, "5"],
  [true, "anything"],
  [{}, "anything"],
  [{ $ref: "https://example.com/schema" }, "anything"],
  [{ type: "array", items: { type: "string", format: "date-time" } }, "list of date-time"],
])("%j is %s", (schema, expected) => expect(schemaTypeText(schema, { d: { type: "boolean" } })).toBe(expected));

test("parts of allOf add up", () => {
  const { schema } = read(
    {
      allOf: [
        { properties: { a: {} }, required: ["a"] },
        { properties: { b: {} }, required: ["b"] },
      ],
      required: ["c"],
    },
    {},
  );
  expect(schema["properties"]).toEqual({ a: {}, b: {} });
  expect([...(schema["required"] as string[])].sort()).toEqual(["a", "b", "c"]);
});
