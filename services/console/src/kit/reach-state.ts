/** Records whether a banner shows that the server cannot be reached; meanwhile pages do not show it again. */
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let isOut = false;

/** Set by the banner. */
export function setOutage(now: boolean): void {
  if (isOut === now) return;
  isOut = now;
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the banner is shown. */
export function useOutage(): boolean {
  return useSyncExternalStore(subscribe, () => isOut);
}
