/** The default number of slots. */
import { expect, test } from "@jest/globals";
import { slotsByMemory } from "./index.js";

const MIB = 1024 ** 2;

test.each([
  ["never fewer than there were when the number was fixed", 64 * MIB, 1_000],
  ["a quarter of the memory", 512 * MIB, 2_048],
  ["a quarter of the memory", 1_024 * MIB, 4_096],
  ["never more than the connections to one endpoint carry", 64 * 1_024 * MIB, 8_192],
  ["also of a process whose memory has no bound", Number.POSITIVE_INFINITY, 8_192],
])("slots take %s (%d bytes: %d)", (_title, memoryBytes, slots) => {
  expect(slotsByMemory(memoryBytes)).toBe(slots);
});
