/** Detects a narrow screen, on which a timeline's rows are two lines high, so that the layout takes it into account. */
import { useSyncExternalStore } from "react";

/** The same width as in `timeline.css`. */
const NARROW = "(max-width: 48rem)";

function subscribe(listener: () => void): () => void {
  const query = matchMedia(NARROW);
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(NARROW).matches);
}
