import { expect, test } from "@jest/globals";
import { isNothing, isSelected, NOTHING, toggled, withRange } from "./selection.js";

const LISTED = ["a", "b", "c", "d", "e"];

test("an id is selected and deselected", () => {
  const one = toggled(NOTHING, "b", LISTED);
  expect([isSelected(one, "b"), isSelected(one, "a"), isNothing(one)]).toEqual([true, false, false]);
  expect(isNothing(toggled(one, "b", LISTED))).toBe(true);
});

test("a range has both its ends, whichever comes first, and keeps what was chosen", () => {
  const chosen = withRange(toggled(NOTHING, "a", LISTED), LISTED, 4, 2);
  expect(LISTED.filter((id) => isSelected(chosen, id))).toEqual(["a", "c", "d", "e"]);
});

test("all matches are selected, until one is deselected: then the listed ones are", () => {
  expect(isSelected({ kind: "matching" }, "never seen")).toBe(true);
  const others = toggled({ kind: "matching" }, "c", LISTED);
  expect(LISTED.filter((id) => isSelected(others, id))).toEqual(["a", "b", "d", "e"]);
  expect(isSelected(others, "never seen")).toBe(false);
  expect(withRange({ kind: "matching" }, LISTED, 0, 1)).toEqual({ kind: "matching" });
});
