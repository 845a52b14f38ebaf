/** A pause that an abort signal ends. */
import type { Clock } from "@perdure/base";

/** Rejects with the reason of the signal. */
export async function pause(
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
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
