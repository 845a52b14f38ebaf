/** A timeout for servers that accept a connection and do not answer. */
import type { Clock } from "@perdure/base";

/** Returns a `fetch` that rejects when an answer has not begun after `withinMs`; the body has no timeout. */
export function fetchWithTimeout(fetchFn: typeof fetch, clock: Clock, withinMs: number): typeof fetch {
  return async (input, init = {}) => {
    const timeout = new AbortController();
    const timer = clock.setTimer(withinMs, () => timeout.abort(new Error(`no answer within ${withinMs / 1_000} s`)));
    const signals = [timeout.signal, init.signal].filter((signal) => signal !== null && signal !== undefined);
    try {
      return await fetchFn(input, { ...init, signal: AbortSignal.any(signals) });
    } finally {
      timer.cancel();
    }
  };
}
