import { describe, expect, test } from "@jest/globals";
import { overlaidNames, overlaidState } from "./overlaid.js";

const [one, two, three] = [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)];

describe("the state of an object", () => {
  const stored = new Map([
    ["a", one],
    ["b", two],
  ]);

  test("is the stored one itself while nothing was applied to the object", () => {
    expect(overlaidState(stored, [["other/a", null]], "mine/")).toBe(stored);
  });

  test("has what was applied, in the order of storage, and leaves the stored one as it is", () => {
    const applied = [
      ["mine/a", null],
      ["mine/long", three],
      ["mine/c", one],
    ] as const;
    expect([...overlaidState(stored, applied, "mine/")]).toEqual([
      ["b", two],
      ["c", one],
      ["long", three],
    ]);
    expect([...stored.keys()]).toEqual(["a", "b"]);
  });
});

test("the names of a workflow's promises are the stored ones, without the deleted and with the new", () => {
  const applied = [
    ["mine/a", null],
    ["mine/c", {}],
    ["other/d", {}],
  ] as const;
  expect(overlaidNames(["a", "b"], applied, "mine/")).toEqual(["b", "c"]);
});
