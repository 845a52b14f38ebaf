/** The one way to wait for a time. */
import type { Clock } from "./clock.js";

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. The caller checks the signal where the difference matters. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = clock.setTimer(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
