import { expect, test } from "@jest/globals";
import { exampleOf } from "./example.js";
import { problemsOf } from "./validate.js";

const ORDER = {
  type: "object",
  required: ["item", "amount"],
  additionalProperties: false,
  properties: {
    item: { type: "string", minLength: 1 },
    amount: { type: "integer", minimum: 1 },
    speed: { enum: ["normal", "express"], default: "normal" },
    note: { type: ["string", "null"] },
    tags: { type: "array", items: { type: "string" }, maxItems: 2, uniqueItems: true },
    buyer: { anyOf: [{ $ref: "#/$defs/Person" }, { type: "string" }] },
  },
  $defs: { Person: { type: "object", required: ["name"], properties: { name: { type: "string" } } } },
};

const problemTexts = (value: unknown, schema: unknown) =>
  problemsOf(value, schema).map(({ path, message }) => `${path}: ${message}`);

test("what fits has no problems", () => {
  const order = { item: "lamp", amount: 2, speed: "express", note: null, tags: ["a", "b"], buyer: { name: "Ada" } };
  expect(problemTexts(order, ORDER)).toEqual([]);
  expect(problemTexts({ ...order, buyer: "Ada" }, ORDER)).toEqual([]);
});

test("each error is reported with its place", () => {
  const order = { item: "", amount: 0.5, speed: "slow", note: 5, tags: ["a", "a", 3], buyer: {}, colour: "red" };
  expect(problemTexts(order, ORDER)).toEqual([
    "item: must not be empty",
    "amount: must be an integer",
    'speed: must be one of "normal", "express"',
    "note: must be a string",
    "tags: must have at most 2 items",
    "tags: must not have duplicate items",
    "tags[2]: must be a string",
    "buyer.name: is required",
    "colour: is not allowed",
  ]);
  expect(problemTexts({ amount: 1 }, ORDER)).toEqual(["item: is required"]);
  expect(problemTexts([], ORDER)).toEqual([": must be an object"]);
});

test.each([
  [{ multipleOf: 0.1 }, 0.3, []],
  [{ multipleOf: 5 }, 7, [": must be a multiple of 5"]],
  [{ exclusiveMinimum: 0, exclusiveMaximum: 1 }, 1, [": must be less than 1"]],
  [{ type: "string", format: "email" }, "ada", [": must be of the format email"]],
  [{ type: "string", format: "date-time" }, "2026-01-31T12:00:00Z", []],
  [{ type: "string", pattern: "^a+$" }, "b", [": must match /^a+$/"]],
  [{ type: "string", pattern: "(?<bad" }, "b", []],
  [{ const: 1 }, 2, [": must be 1"]],
  [{ prefixItems: [{ type: "string" }], items: false }, ["a", 1], ["[1]: is not allowed"]],
  [{ additionalProperties: { type: "number" } }, { a: "x" }, ["a: must be a number"]],
  [{ type: "string", nullable: true }, null, []],
  [{ type: "string", maxLength: 1 }, "😀", []],
  [{ unknownKeyword: true }, "anything", []],
])("%j about %j", (schema, value, problems) => expect(problemTexts(value, schema)).toEqual(problems));

test("no end of problems is cut, and what contains itself ends", () => {
  const schema = { type: "array", items: { type: "string" } };
  expect(problemsOf(Array(100).fill(1), schema)).toHaveLength(20);
  const tree = { type: "object", properties: { left: { $ref: "#" } } };
  expect(problemTexts({ left: { left: { left: 1 } } }, tree)).toEqual(["left.left.left: must be an object"]);
});

test("an example fits its own schema, with what is required and nothing else", () => {
  expect(exampleOf(ORDER)).toEqual({ item: "text", amount: 1 });
  expect(problemTexts(exampleOf(ORDER), ORDER)).toEqual([]);
  expect(exampleOf(undefined)).toEqual({});
  expect(exampleOf({ type: "object", required: ["next"], properties: { next: { $ref: "#" } } })).toHaveProperty("next.next.next");
});
