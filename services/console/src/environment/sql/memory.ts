/**
 * Statements that the user ran or saved, kept in this browser. Stored data may come from another version, so it is parsed with care. Pure.
 */
import { z } from "zod";
import { storedOr } from "../stored.js";
import { HISTORY_MAX, REMEMBERED_CHARS_MAX, SAVED_MAX } from "./limits.js";

const memoryShape = z.object({
  history: z.array(z.object({ statement: z.string(), atMs: z.number() })),
  saved: z.array(z.object({ name: z.string(), statement: z.string() })),
});
export type Memory = z.infer<typeof memoryShape>;

const NO_MEMORY: Memory = { history: [], saved: [] };

/** Empty when nothing valid is stored. */
export function memoryOf(stored: string | null): Memory {
  return storedOr(memoryShape, stored, NO_MEMORY);
}

/** The last one first, each once. */
export function withRun(memory: Memory, statement: string, atMs: number): Memory {
  if (statement.length > REMEMBERED_CHARS_MAX) return memory;
  const others = memory.history.filter((one) => one.statement !== statement);
  return { ...memory, history: [{ statement, atMs }, ...others].slice(0, HISTORY_MAX) };
}

/** Under a name; it takes the place of one of the same name. */
export function withSaved(memory: Memory, name: string, statement: string): Memory {
  const others = memory.saved.filter((one) => one.name !== name);
  const saved = [...others, { name, statement }].sort((a, b) => a.name.localeCompare(b.name));
  return { ...memory, saved: saved.slice(0, SAVED_MAX) };
}

export function withoutSaved(memory: Memory, name: string): Memory {
  return { ...memory, saved: memory.saved.filter((one) => one.name !== name) };
}
