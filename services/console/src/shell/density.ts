/** Space between things: comfortable, or compact for users who read long lists; stored in this browser. */
import { useSyncExternalStore } from "react";

const STORED = "perdure.density";

const isStoredCompact = (): boolean => localStorage.getItem(STORED) === "compact";

/** Shows the page as it was chosen last. */
export function applyStoredDensity(): void {
  if (isStoredCompact()) document.documentElement.dataset["density"] = "compact";
  else delete document.documentElement.dataset["density"];
}

const listeners = new Set<() => void>();

/** Stores and applies it. */
export function chooseCompact(isCompact: boolean): void {
  if (isCompact) localStorage.setItem(STORED, "compact");
  else localStorage.removeItem(STORED);
  applyStoredDensity();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useIsCompact(): boolean {
  return useSyncExternalStore(subscribe, isStoredCompact);
}
