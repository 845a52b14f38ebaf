/** Pauses between polls, which Ctrl-C ends. */
import type { Clock } from "@perdure/base";

/** Rejects with the signal's reason. */
export function pause({ clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.setTimer(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}
