/** Canvases are not styled by CSS, so they must be drawn again when the page becomes dark or light. */
import { useSyncExternalStore } from "react";

let turn = 0;

function subscribe(listener: () => void): () => void {
  const onTurn = () => {
    turn++;
    listener();
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", onTurn);
  const observer = new MutationObserver(onTurn);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", onTurn);
    observer.disconnect();
  };
}

/** Another number whenever colours have changed. */
export function useThemeTurn(): number {
  return useSyncExternalStore(subscribe, () => turn);
}
