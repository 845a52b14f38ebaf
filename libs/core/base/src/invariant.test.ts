import { expect, test } from "@jest/globals";
import { InvariantError, invariant, present, unreachable } from "./index.js";

test("a true condition passes, a false one throws the reason", () => {
  invariant(true, "never shown");
  expect(() => invariant(0, "the lock is held")).toThrow(new InvariantError("the lock is held"));
});

test("a value that must exist is returned, whatever it is, and its absence throws", () => {
  for (const value of [0, "", null, false]) expect(present<unknown>(value)).toBe(value);
  expect(() => present([1][1])).toThrow(new InvariantError("a value that must exist is undefined"));
});

test("an unknown variant is named by its tag and shows nothing of its data", () => {
  expect(() => unreachable({ kind: "teleport", payload: "private" } as never)).toThrow(
    new InvariantError("unhandled case: teleport"),
  );
  expect(() => unreachable({ status: "lost" } as never)).toThrow("unhandled case: lost");
  expect(() => unreachable({ payload: "private" } as never)).toThrow("unhandled case: an object");
  expect(() => unreachable("blue" as never)).toThrow("unhandled case: blue");
});
