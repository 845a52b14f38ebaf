import { expect, test } from "@jest/globals";
import { changedBeside, clashesOf, withChanges } from "./changes.js";

const map = (entries: Readonly<Record<string, string>>) =>
  new Map(Object.entries(entries).map(([name, text]) => [name, new TextEncoder().encode(text)]));

test("changes set, add and remove, and leave the original state as it is", () => {
  const before = map({ a: "1", b: "2" });
  const after = withChanges(before, new Map([...map({ a: "9", c: "3" }), ["b", undefined] as const]));
  expect(after).toEqual(map({ a: "9", c: "3" }));
  expect(before).toEqual(map({ a: "1", b: "2" }));
});

test("a conflict is distinguished from a change of one side", () => {
  const before = map({ a: "1", b: "2", c: "3", same: "x" });
  const theirs = map({ a: "5", b: "2", d: "4", same: "x" });
  const changes = map({ a: "9", b: "7" });
  expect(clashesOf(before, theirs, changes).map(({ name, isOver }) => [name, isOver])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  expect(changedBeside(before, theirs, changes)).toEqual(["c", "d"]);
});

test("two equal changes are not a conflict", () => {
  expect(clashesOf(map({ a: "1" }), map({ a: "2" }), map({ a: "2" }))).toEqual([]);
  expect(clashesOf(map({ a: "1" }), map({}), new Map([["a", undefined]]))).toEqual([]);
});
