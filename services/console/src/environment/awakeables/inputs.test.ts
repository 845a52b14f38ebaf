import { expect, test } from "@jest/globals";
import { inputsOf, inputsStatement, matching } from "./inputs.js";

const journalOf = (text: string): string =>
  JSON.stringify({ Command: { Input: { payload: [...new TextEncoder().encode(text)], headers: [] } } });

test("an input is one line, and none is shown for an empty one, a long one and one that is not retained", () => {
  const inputs = inputsOf([
    { id: "a", input: journalOf('{\n  "order": 7\n}') },
    { id: "b", input: journalOf("") },
    { id: "c" },
    { id: "d", input: journalOf(`"${"x".repeat(500)}"`) },
    { id: "e", input: journalOf("two\nlines") },
  ]);
  expect([inputs.get("a"), inputs.get("b"), inputs.get("c"), inputs.get("e")]).toEqual([
    '{"order":7}',
    undefined,
    undefined,
    "two lines",
  ]);
  expect(inputs.get("d")).toHaveLength(122);
});

test("each invocation is read once, and only so many", () => {
  const waiting = (invocationId: string) => ({ id: "prom", invocationId, target: "S/h", status: "suspended", since: undefined });
  expect(inputsStatement([])).toBeUndefined();
  expect(inputsStatement([waiting("a"), waiting("a"), waiting("b")])).toContain(`id IN ('a', 'b') AND "index" = 0`);
  const many = Array.from({ length: 300 }, (_, n) => waiting(`i${n}`));
  expect(inputsStatement(many)?.match(/'i\d+'/g)).toHaveLength(100);
});

test("awakeables are found by handler, input and id, in any case", () => {
  const one = { id: "sign_1a", invocationId: "inv_a", target: "Orders/approve", status: "suspended", since: undefined };
  const two = { ...one, id: "sign_1b", invocationId: "inv_b", target: "Refunds/approve" };
  const inputs = new Map([["inv_a", '{"customer":"Ada"}']]);
  const idsWith = (text: string) => matching([one, two], inputs, text).map(({ id }) => id);
  expect(idsWith(" ")).toEqual(["sign_1a", "sign_1b"]);
  expect(idsWith("ada")).toEqual(["sign_1a"]);
  expect(idsWith("refunds")).toEqual(["sign_1b"]);
  expect(idsWith("SIGN_1B")).toEqual(["sign_1b"]);
  expect(idsWith("nobody@")).toEqual([]);
});
