/** Shows times as "3 min ago", and the exact moment on hover: in the user's zone, and in UTC for the logs. */
import { useSyncExternalStore } from "react";
import { ago, durationText, exactMoment } from "./time-text.js";

/** Shows the time since or until a moment; `at`: RFC 3339 or milliseconds. The exact moment is its title. */
export function Moment({ at }: { readonly at: string | number | null | undefined }) {
  const nowMs = useNow();
  if (at === null || at === undefined) return <span className="quiet">–</span>;
  const ms = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(ms)) return <span>{String(at)}</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactMoment(ms)} className="nowrap">
      {ago(ms, nowMs)}
    </time>
  );
}

/** `1.24 s`; the milliseconds are its title. */
export function Duration({ ms }: { readonly ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className="quiet">–</span>;
  return (
    <span title={`${ms} ms`} className="nowrap">
      {durationText(ms)}
    </span>
  );
}

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    nowMs = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time to the second: one clock for all components that show it. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}
