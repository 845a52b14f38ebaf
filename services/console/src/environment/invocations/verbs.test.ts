import { expect, test } from "@jest/globals";
import { BULK_VERBS, type BulkVerb, starterOf, targetOfBatch, tooManyFor, typedFor } from "./verbs.js";

const verb = (name: string): BulkVerb => {
  const match = BULK_VERBS.find((each) => each.verb === name);
  if (match === undefined) throw new Error(name);
  return match;
};
const ids = (count: number) => ({ kind: "ids", ids: new Set(Array.from({ length: count }, (_, i) => `inv_${i}`)) }) as const;

test("a batch acts on what was chosen, as far as the verb applies to it", () => {
  expect(targetOfBatch({ kind: "matching" }, undefined, verb("kill"))).toEqual({ filter: "status != 'completed'" });
  expect(targetOfBatch({ kind: "matching" }, "(a = 1 OR b = 2)", verb("purge"))).toEqual({
    filter: "(a = 1 OR b = 2) AND status = 'completed'",
  });
  expect(targetOfBatch(ids(2), "a = 1", verb("pause"))).toEqual({
    filter: "id IN ('inv_0', 'inv_1') AND status IN ('running', 'ready', 'backing-off')",
  });
  expect(targetOfBatch(ids(301), undefined, verb("kill")).ids).toHaveLength(301);
});

test("more than a batch takes is refused before it is sent", () => {
  expect(tooManyFor(ids(10_000))).toBeUndefined();
  expect(tooManyFor(ids(10_001))).toMatch(/10,000/);
  expect(tooManyFor({ kind: "matching" })).toBeUndefined();
});

test("an action that cannot be undone needs a typed confirmation for many invocations", () => {
  expect([typedFor(verb("kill"), 12), typedFor(verb("kill"), 1), typedFor(verb("resume"), 12)]).toEqual([
    "kill 12",
    undefined,
    undefined,
  ]);
});

test("browsers all have the same name; other programs have their own", () => {
  expect([starterOf("Mozilla/5.0 (X11)"), starterOf("ada@example.com"), starterOf(null)]).toEqual([
    "a browser",
    "ada@example.com",
    "–",
  ]);
});
