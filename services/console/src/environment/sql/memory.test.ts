import { expect, test } from "@jest/globals";
import { HISTORY_MAX, REMEMBERED_CHARS_MAX } from "./limits.js";
import { memoryOf, withoutSaved, withRun, withSaved } from "./memory.js";

const NO_MEMORY = memoryOf(null);

test("what was stored is read, and what is something else is nothing", () => {
  const memory = withSaved(withRun(NO_MEMORY, "select 1", 5), "one", "select 1");
  expect(memoryOf(JSON.stringify(memory))).toEqual(memory);
  expect([null, "{", "[]", '{"history":[{"statement":1}],"saved":[]}'].map(memoryOf)).toEqual(
    Array(4).fill({ history: [], saved: [] }),
  );
});

test("a statement is in the history once, the last first, and the history has an end", () => {
  const twice = withRun(withRun(withRun(NO_MEMORY, "a", 1), "b", 2), "a", 3);
  expect(twice.history.map(({ statement }) => statement)).toEqual(["a", "b"]);
  let memory = NO_MEMORY;
  for (let i = 0; i < HISTORY_MAX + 5; i++) memory = withRun(memory, `select ${i}`, i);
  expect(memory.history).toHaveLength(HISTORY_MAX);
  expect(withRun(NO_MEMORY, "x".repeat(REMEMBERED_CHARS_MAX + 1), 1)).toBe(NO_MEMORY);
});

test("what is saved again is replaced", () => {
  const memory = withSaved(withSaved(withSaved(NO_MEMORY, "b", "1"), "a", "2"), "b", "3");
  expect(memory.saved).toEqual([
    { name: "a", statement: "2" },
    { name: "b", statement: "3" },
  ]);
  expect(withoutSaved(memory, "a").saved).toHaveLength(1);
});
