import { expect, test } from "@jest/globals";
import { exampleOf } from "./example.js";
import { problemsOf } from "./validate.js";
import { variantAt, variantsOf } from "./variants.js";

const PAYMENT = {
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "integer", minimum: 1 } },
  oneOf: [
    { required: ["kind", "number"], properties: { kind: { const: "card" }, number: { type: "string", minLength: 12 } } },
    { required: ["kind", "iban"], properties: { kind: { enum: ["transfer"] }, iban: { type: "string" } } },
  ],
};
const NAMED = { anyOf: [{ title: "By name", type: "string" }, { type: "integer" }, { type: "null" }] };

test("variants are named by title, tag or type, and have the fields beside the union", () => {
  const variants = variantsOf(PAYMENT, PAYMENT);
  expect(variants.map(({ label }) => label)).toEqual(["card", "transfer"]);
  expect(problemsOf({ kind: "card", number: "123456789012", amount: 1 }, variants[0]?.part)).toEqual([]);
  expect(problemsOf({ kind: "card", number: "123456789012" }, variants[0]?.part)).toEqual([
    { path: "amount", message: "is required" },
  ]);
  expect(variantsOf(NAMED, NAMED).map(({ label }) => label)).toEqual(["By name", "integer"]);
  const types = { type: ["string", "number", "null"] };
  expect(variantsOf(types, types).map(({ label }) => label)).toEqual(["string", "number"]);
  const alike = { oneOf: [{ type: "object" }, { type: "object" }] };
  expect(variantsOf(alike, alike).map(({ label }) => label)).toEqual(["object 1", "object 2"]);
  expect(variantsOf({ type: "string" }, {})).toEqual([]);
});

test("a value belongs to the variant of its tag, its type, or the one with the fewest errors", () => {
  const variants = variantsOf(PAYMENT, PAYMENT);
  expect(variantAt({ kind: "transfer" }, variants, PAYMENT)).toBe(1);
  expect(variantAt({ iban: "DE1" }, variants, PAYMENT)).toBe(1);
  expect(variantAt({}, variants, PAYMENT)).toBe(0);
  // The chosen variant stays while the value may belong to it, and no longer.
  expect(variantAt({}, variants, PAYMENT, 1)).toBe(1);
  expect(variantAt({ kind: "card" }, variants, PAYMENT, 1)).toBe(0);
  expect(variantAt(5, variantsOf(NAMED, NAMED), NAMED)).toBe(1);
  expect(variantAt(undefined, variants, PAYMENT)).toBe(0);
});

test("errors of a union are those of the matching variant, at their places", () => {
  expect(problemsOf({ kind: "card", number: "1", amount: 0 }, PAYMENT)).toEqual([
    { path: "number", message: "must have at least 12 characters" },
    { path: "amount", message: "must be at least 1" },
  ]);
  expect(problemsOf(true, NAMED)).toEqual([{ path: "", message: "matches none of the allowed variants" }]);
});

test("the example of a union fits it, with the fields beside it", () => {
  expect(exampleOf(PAYMENT)).toEqual({ kind: "card", number: "text text text", amount: 1 });
  expect(problemsOf(exampleOf(PAYMENT), PAYMENT)).toEqual([]);
});
