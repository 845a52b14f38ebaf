/** Why: what is remembered of statements is kept in this browser, for each environment by itself. */
import { useStored } from "../stored.js";
import { type Memory, memoryOf } from "./memory.js";

export function useMemory(): readonly [Memory, (change: (memory: Memory) => Memory) => void] {
  return useStored("sql", memoryOf);
}
