/** A page that handles keys of its own registers them, so that the list of all keys (`?`) shows them, too. */
import { useEffect } from "react";

/** Description of a shortcut, and its keys. */
export type PageKey = readonly [what: string, keys: readonly string[]];

const NONE: readonly PageKey[] = [];
let shown = NONE;
const listeners = new Set<() => void>();

/** Registers keys while the page is shown. `keys` is a constant. */
export function usePageKeys(keys: readonly PageKey[]): void {
  useEffect(() => {
    publish(keys);
    return () => publish(NONE);
  }, [keys]);
}

function publish(keys: readonly PageKey[]): void {
  shown = keys;
  for (const listener of listeners) listener();
}

export function pageKeys(): readonly PageKey[] {
  return shown;
}

export function subscribeToPageKeys(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const LETTERS_STORED = "perdure.letters";

/** Users of speech input turn single-letter keys off (WCAG 2.1.4). */
export function areLetterKeysEnabled(): boolean {
  return localStorage.getItem(LETTERS_STORED) !== "off";
}
