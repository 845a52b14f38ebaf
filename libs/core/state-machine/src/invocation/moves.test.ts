import { expect, test } from "@jest/globals";
import { anInvocation } from "../testing/index.js";
import { MOVES_KEPT_MAX, type Move, movesOf, resumptionsIn, runningSinceMs, withMove } from "./moves.js";

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

test("an invocation runs since it continued last, or since it began", () => {
  expect(runningSinceMs({ ...milestones, runningAtMs: undefined })).toBeUndefined();
  const begun = { ...milestones, runningAtMs: 100 };
  expect(runningSinceMs(begun)).toBe(100);
  const suspended = withMove(begun, "suspended", 200);
  expect(runningSinceMs(suspended)).toBe(100);
  expect(runningSinceMs(withMove(suspended, "running", 300))).toBe(300);
});

test("a wait for a slot of the worker is not a resumption; one for a slot of the scope ends in one", () => {
  const states = (...names: readonly Move["state"][]) => resumptionsIn(names.map((state, atMs) => ({ state, atMs })));
  expect(states()).toBe(0);
  expect(states("slot", "running")).toBe(0);
  expect(states("suspended", "running", "slot", "running")).toBe(1);
  expect(states("suspended", "slot", "running", "slot", "running")).toBe(1);
  expect(states("running", "paused", "running")).toBe(2);
});

test("a clock that goes back creates no move before the previous one", () => {
  expect(after({ state: "suspended", atMs: 500 }, { state: "running", atMs: 400 })).toEqual([
    { state: "suspended", atMs: 500 },
    { state: "running", atMs: 500 },
  ]);
});
