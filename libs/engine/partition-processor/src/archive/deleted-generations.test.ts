import { expect, test } from "@jest/globals";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { retainedUntilMs } from "@perdure/storage";
import { DeletedGenerations } from "./deleted-generations.js";

const DELETED = anInvocation("completed", { facts: someFacts({ id: anId(1), completionRetentionMs: 5_000 }) });
const GENERATION = { id: anId(1), retainedUntilMs: retainedUntilMs(DELETED) };

test("a generation is deleted at once, and deleted from the archive only when its note is durable", () => {
  const deletions = new DeletedGenerations([]);
  const name = deletions.add(DELETED);
  expect(deletions.has(GENERATION)).toBe(true);
  expect(deletions.toDelete(10)).toEqual([]);
  deletions.noted(name);
  expect(deletions.toDelete(10)).toEqual([GENERATION]);
});

test("the next leader knows the deletions from their notes until the archive has made them", () => {
  const name = new DeletedGenerations([]).add(DELETED);
  const next = new DeletedGenerations([name]);
  expect(next.toDelete(10)).toEqual([GENERATION]);
  expect(next.confirm(GENERATION)).toBe(name);
  expect(next.has(GENERATION)).toBe(false);
  expect(next.toDelete(10)).toEqual([]);
});

test("a later generation of the same id is another one", () => {
  const deletions = new DeletedGenerations([]);
  deletions.add(DELETED);
  expect(deletions.has({ ...GENERATION, retainedUntilMs: GENERATION.retainedUntilMs + 1 })).toBe(false);
});
