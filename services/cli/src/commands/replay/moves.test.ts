import { expect, test } from "@jest/globals";
import { moved, parseMove } from "./moves.js";

/** Journal entries of four commands; those between are notifications. */
const ENTRIES = [0, 1, 3, 4];

test("moves stay within the journal, and a number leads to the command at or before that entry", () => {
  expect(moved(1, "back", ENTRIES)).toBe(1);
  expect(moved(1, "forward", ENTRIES)).toBe(2);
  expect(moved(4, "forward", ENTRIES)).toBe(4);
  expect(moved(2, "end", ENTRIES)).toBe(4);
  expect(moved(2, "again", ENTRIES)).toBe(2);
  expect([0, 2, 3, 99].map((entry) => moved(1, { entry }, ENTRIES))).toEqual([1, 2, 3, 4]);
});

test("keys and words are moves, other text is none", () => {
  expect(["n", "", "right", " B ", "e", "r", "q"].map(parseMove)).toEqual([
    "forward",
    "forward",
    "forward",
    "back",
    "end",
    "again",
    "quit",
  ]);
  expect([parseMove("17"), parseMove("x"), parseMove("-1")]).toEqual([{ entry: 17 }, undefined, undefined]);
});
