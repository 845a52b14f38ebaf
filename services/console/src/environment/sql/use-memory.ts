/** Stored statements are kept in this browser, separately for each environment. */
import { useStored } from "../stored.js";
import { type Memory, memoryOf } from "./memory.js";

export function useMemory(): readonly [Memory, (change: (memory: Memory) => Memory) => void] {
  return useStored("sql", memoryOf);
}
