/** Why: what is remembered of statements is kept in this browser, for each environment by itself. */
import { useCallback, useState } from "react";
import { useEnvironment } from "../environment.js";
import { type Memory, memoryOf } from "./memory.js";

export function useMemory(): readonly [Memory, (change: (memory: Memory) => Memory) => void] {
  const place = `perdure.sql.${useEnvironment().key}`;
  const [memory, setMemory] = useState(() => memoryOf(localStorage.getItem(place)));
  const change = useCallback(
    (next: (memory: Memory) => Memory) => {
      // Read again: another window may have written.
      const changed = next(memoryOf(localStorage.getItem(place)));
      localStorage.setItem(place, JSON.stringify(changed));
      setMemory(changed);
    },
    [place],
  );
  return [memory, change];
}
