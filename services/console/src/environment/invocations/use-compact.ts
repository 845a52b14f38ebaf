/** Whether the page is compact. Imports nothing of the switch itself, which would then be a file of its own in the first load. */
import { useSyncExternalStore } from "react";

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-density"] });
  return () => observer.disconnect();
}

const isCompact = (): boolean => document.documentElement.dataset["density"] === "compact";

export function useCompactRows(): boolean {
  return useSyncExternalStore(subscribe, isCompact);
}
