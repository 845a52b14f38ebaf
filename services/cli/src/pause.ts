/** Pauses between polls, which Ctrl-C ends. */
import { type Clock, pause as pauseOf } from "@perdure/base";

/** Rejects with the signal's reason. */
export async function pause(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ms: number,
): Promise<void> {
  await pauseOf(clock, ms, signal);
  signal.throwIfAborted();
}
