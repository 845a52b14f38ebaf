/**
 * The last calls of this browser, by environment, for repeated calls of the same handler. Headers are left out, since they carry
 * credentials. Pure but for the storage it is given.
 */
import { z } from "zod";
import { WAYS } from "./call.js";
import { HISTORY_BODY_CHARS_MAX, HISTORY_MAX } from "./limits.js";

const entryShape = z.object({
  service: z.string(),
  handler: z.string(),
  key: z.string(),
  way: z.enum(WAYS),
  body: z.string().max(HISTORY_BODY_CHARS_MAX),
  idempotencyKey: z.string(),
  scope: z.string(),
  limitKey: z.string(),
  priority: z.string(),
  delay: z.string(),
  contentType: z.string(),
  atMs: z.number(),
  invocationId: z.string().optional(),
  isFailure: z.boolean(),
});
export type HistoryEntry = z.infer<typeof entryShape>;

const historyShape = z.array(entryShape).max(HISTORY_MAX);

export type TextStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const nameOf = (environmentKey: string): string => `perdure.playground.${environmentKey}`;

/** Newest first. Records that another version wrote and that cannot be parsed are left out. */
export function readHistory(storage: TextStorage, environmentKey: string): readonly HistoryEntry[] {
  const text = storage.getItem(nameOf(environmentKey));
  if (text === null) return [];
  try {
    return historyShape.safeParse(JSON.parse(text)).data ?? [];
  } catch (cause) {
    if (cause instanceof SyntaxError) return [];
    throw cause;
  }
}

/** The history with one call more; the oldest is dropped when there are too many, and a body that is too long is not stored. */
export function remembered(history: readonly HistoryEntry[], entry: HistoryEntry): readonly HistoryEntry[] {
  const body = entry.body.length > HISTORY_BODY_CHARS_MAX ? "" : entry.body;
  return [{ ...entry, body }, ...history].slice(0, HISTORY_MAX);
}

/** Stores it; where the browser's storage is full, nothing is kept. */
export function writeHistory(storage: TextStorage, environmentKey: string, history: readonly HistoryEntry[]): void {
  const name = nameOf(environmentKey);
  try {
    storage.setItem(name, JSON.stringify(history));
  } catch (cause) {
    if (!(cause instanceof DOMException)) throw cause;
    storage.removeItem(name);
  }
}
