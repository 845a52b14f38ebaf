import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { type Tolerant, tolerant } from "./tolerant.js";

const PlanShape = z.strictObject({
  name: z.string(),
  color: z.enum(["red", "green"]),
  note: z.string().optional(),
  parent: z.strictObject({ id: z.int() }).nullable(),
  steps: z.array(z.strictObject({ state: z.enum(["open", "done"]) })),
  totals: z.record(z.string(), z.strictObject({ count: z.int() })),
});
const plan: z.input<typeof PlanShape> = { name: "a", color: "red", parent: null, steps: [], totals: {} };

describe("a tolerant shape", () => {
  test("accepts every value of the strict shape, unchanged", () => {
    const value = { ...plan, note: "b", parent: { id: 1 }, steps: [{ state: "done" as const }], totals: { x: { count: 2 } } };
    expect(tolerant(PlanShape).parse(value)).toEqual(PlanShape.parse(value));
  });

  test("passes fields without a shape on, at every depth", () => {
    const value = {
      ...plan,
      new: 1,
      parent: { id: 1, new: 2 },
      steps: [{ state: "open", new: 3 }],
      totals: { x: { count: 1, new: 4 } },
    };
    expect(PlanShape.safeParse(value).success).toBe(false);
    expect(tolerant(PlanShape).parse(value)).toEqual(value);
  });

  test("passes values that were added to an enumeration on as text", () => {
    const value = { ...plan, color: "blue", steps: [{ state: "skipped" }] };
    expect(tolerant(PlanShape).parse(value)).toEqual(value);
    expect(tolerant(PlanShape).safeParse({ ...plan, color: 5 }).success).toBe(false);
  });

  test.each<[string, unknown]>([
    ["a missing field", { ...plan, name: undefined }],
    ["another type", { ...plan, name: 1 }],
    ["null where the server sends none", { ...plan, note: null }],
    ["a broken item of a list", { ...plan, steps: [{}] }],
    ["a broken value of a map", { ...plan, totals: { x: {} } }],
  ])("refuses %s", (_what, value) => {
    expect(tolerant(PlanShape).safeParse(value).success).toBe(false);
  });

  test("finds the alternative of a union by the fields that are there", () => {
    const shape = z.union([z.strictObject({ uri: z.string() }), z.strictObject({ arn: z.string() })]);
    expect(tolerant(shape).parse({ arn: "a", new: 1 })).toEqual({ arn: "a", new: 1 });
    expect(tolerant(shape).safeParse({ new: 1 }).success).toBe(false);
  });

  test("keeps literals, because clients distinguish alternatives by them", () => {
    const shape = tolerant(z.strictObject({ status: z.literal("absent") }));
    expect(shape.safeParse({ status: "gone" }).success).toBe(false);
  });

  test("is made once, and does not carry the name of the schema", () => {
    const named = z.strictObject({ a: z.string() }).meta({ id: "NamedInTolerantTest" });
    expect(tolerant(named)).toBe(tolerant(named));
    expect(tolerant(named).meta()).toBeUndefined();
  });

  test("has the type of the strict shape with open enumerations", () => {
    const value: Tolerant<typeof PlanShape> = { ...plan, color: "blue" };
    expect(value.color).toBe("blue");
  });
});
