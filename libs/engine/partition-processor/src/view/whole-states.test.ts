import { expect, test } from "@jest/globals";
import type { Mutation } from "@perdure/state-machine";
import { WholeStates } from "./whole-states.js";

const VALUE = new Uint8Array([1]);
const WRITE: Mutation = { kind: "putState", service: "S", key: "k", stateKey: "a", value: VALUE };

function written(states: WholeStates): void {
  states.noteWrite("S", "k");
  states.seal([WRITE]);
  states.markDurable();
}

test("a cached state takes over a write when that is durable, and is not current before", () => {
  const states = new WholeStates();
  states.remember("S", "k", new Map());
  states.noteWrite("S", "k");
  expect(states.current("S", "k")).toBeUndefined();
  states.seal([WRITE]);
  expect(states.current("S", "k")).toBeUndefined();
  states.markDurable();
  expect(states.current("S", "k")).toEqual(new Map([["a", VALUE]]));
});

test("a state that was written while it was read must not be cached", () => {
  const states = new WholeStates();
  const undisturbed = states.watch("S", "other");
  const disturbed = states.watch("S", "k");
  written(states);
  expect([undisturbed.finished(), disturbed.finished()]).toEqual([true, false]);
});

test("a read that begins while a write is under way must not be cached", () => {
  const states = new WholeStates();
  states.noteWrite("S", "k");
  states.seal([WRITE]);
  const watch = states.watch("S", "k");
  states.markDurable();
  expect(watch.finished()).toBe(false);
  expect(states.watch("S", "k").finished()).toBe(true);
});
