import { expect, test } from "@jest/globals";
import { bodyOf, fieldShape, hasForm, isRounded, numberOfText, readBody, withField, withItem } from "./schema-form.js";

const ROOT = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string" }, next: { $ref: "#" } },
  $defs: { Colour: { enum: ["red", "green", null] } },
};

test.each([
  [{ type: "string" }, { kind: "text", isLong: false }],
  [
    { type: "string", maxLength: 5_000 },
    { kind: "text", isLong: true },
  ],
  [{ type: "integer" }, { kind: "number", isWhole: true }],
  [{ type: ["number", "null"] }, { kind: "number", isWhole: false }],
  [{ type: "boolean", default: true }, { kind: "yesNo" }],
  [{ $ref: "#/$defs/Colour" }, { kind: "choice", values: ["red", "green"] }],
  [{ const: 5 }, { kind: "choice", values: [5] }],
  [{ anyOf: [{ const: "a" }, { const: "b" }] }, { kind: "choice", values: ["a", "b"] }],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, { kind: "number", isWhole: true }],
  [
    { oneOf: [{ type: "string" }, { type: "number" }] },
    {
      kind: "variant",
      variants: [
        { label: "string", part: { type: "string" } },
        { label: "number", part: { type: "number" } },
      ],
    },
  ],
  [
    { type: "array", items: { type: "string" } },
    { kind: "list", item: { type: "string" } },
  ],
  [{ type: "array" }, { kind: "json" }],
  [{ type: "array", prefixItems: [{}], items: { type: "string" } }, { kind: "json" }],
  [{ type: "object" }, { kind: "json" }],
  [
    { type: ["string", "boolean"] },
    {
      kind: "variant",
      variants: [
        { label: "string", part: { type: "string" } },
        { label: "boolean", part: { type: "boolean" } },
      ],
    },
  ],
  [{}, { kind: "json" }],
])("%j is a field of %j", (part, field) => expect(fieldShape(part, ROOT).field).toEqual(field));

test("a group has its fields in their order, and what contains itself becomes JSON at last", () => {
  expect(fieldShape(ROOT, ROOT)).toMatchObject({
    field: {
      kind: "group",
      parts: [
        { name: "name", isRequired: true },
        { name: "next", isRequired: false },
      ],
    },
  });
  expect(fieldShape(ROOT, ROOT, 6).field).toEqual({ kind: "json" });
});

test("a field has a description of its type", () => {
  const part = { type: ["integer", "null"], title: "Amount", description: "How many", default: 3 };
  expect(fieldShape(part, {})).toMatchObject({
    isNullable: true,
    title: "Amount",
    description: "How many",
    defaultText: "default 3",
    typeText: "integer or null",
  });
});

test("a text with a format names it, with an example", () => {
  expect(fieldShape({ type: "string", format: "date-time" }, {}).formatText).toBe("date-time, such as 2026-01-31T12:00:00Z");
  expect(fieldShape({ type: "string", format: "iban" }, {}).formatText).toBe("iban");
  expect(fieldShape({ type: "string" }, {}).formatText).toBeUndefined();
});

test("what has no form is written as JSON only", () => {
  expect([undefined, {}, true, { type: "object" }, { oneOf: [{}, {}] }].map(hasForm)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
  expect([ROOT, { type: "integer" }].map(hasForm)).toEqual([true, true]);
});

test("fields are set in place, added at the end, and removed", () => {
  expect(JSON.stringify(withField({ a: 1, b: 2 }, "a", 5))).toBe('{"a":5,"b":2}');
  expect(JSON.stringify(withField({ a: 1 }, "b", null))).toBe('{"a":1,"b":null}');
  expect(withField({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  expect(withField("no object", "a", 1)).toEqual({ a: 1 });
  expect(withField({}, "__proto__", 1)).not.toBe(Object.prototype);
});

test("items are set and removed", () => {
  expect(withItem([1, 2, 3], 1, 9)).toEqual([1, 9, 3]);
  expect(withItem([1, 2, 3], 1, undefined)).toEqual([1, 3]);
});

test.each([
  ["5", 5],
  [" -1.5 ", -1.5],
  ["1e3", 1_000],
  [".5", 0.5],
  ["", undefined],
  ["-", undefined],
  ["0x10", undefined],
  ["1e999", undefined],
])("%j is the number %j", (text, value) => expect(numberOfText(text)).toBe(value));

test("a body is nothing, a value, or broken", () => {
  expect(readBody("  \n")).toEqual({ kind: "none" });
  expect(readBody("null")).toEqual({ kind: "value", value: null });
  expect(readBody("{")).toMatchObject({ kind: "broken" });
  expect([bodyOf(undefined), bodyOf({ a: 1 })]).toEqual(["", '{\n  "a": 1\n}']);
});

test.each([
  ['{"id": 9007199254740993}', true],
  ['{"id": 9007199254740991}', false],
  ['{"id": "9007199254740993"}', false],
  ['{"a\\"b": 1, "id": -12345678901234567890}', true],
  ["1.23456789012345678901", false],
])("%s would be rounded: %j", (text, is) => expect(isRounded(text)).toBe(is));
