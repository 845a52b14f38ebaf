import { expect, test } from "@jest/globals";
import { anInvocation } from "../testing/index.js";
import { MOVES_KEPT_MAX, type Move, movesOf, withMove } from "./moves.js";

const { milestones } = anInvocation("invoked");

function after(...moves: readonly Move[]): readonly Move[] {
  return movesOf(moves.reduce((before, { state, atMs }) => withMove(before, state, atMs), milestones));
}

test("moves are kept in order, several in one millisecond among them", () => {
  const moves: Move[] = [
    { state: "suspended", atMs: 1_795_000_000_000 },
    { state: "slot", atMs: 1_795_000_000_000 },
    { state: "running", atMs: 1_795_000_000_000 },
    { state: "paused", atMs: 1_795_000_000_001 },
  ];
  expect(after(...moves)).toEqual(moves);
  expect(movesOf(milestones)).toEqual([]);
});

test("the newest are kept, up to a bound", () => {
  const moves = Array.from({ length: 3 * MOVES_KEPT_MAX }, (_, n): Move => ({ state: n % 2 ? "running" : "suspended", atMs: n }));
  expect(after(...moves)).toEqual(moves.slice(-MOVES_KEPT_MAX));
});

test("a clock that goes back moves nothing before what was noted", () => {
  expect(after({ state: "suspended", atMs: 500 }, { state: "running", atMs: 400 })).toEqual([
    { state: "suspended", atMs: 500 },
    { state: "running", atMs: 500 },
  ]);
});
