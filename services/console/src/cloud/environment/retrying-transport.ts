/**
 * An environment that was resumed or hibernated takes some seconds to answer; a request that only reads waits for that, as the command line
 * does.
 */
import type { ApiTransport } from "@perdure/admin-client";

/** Time for which requests are retried: longer than any runtime takes that comes up at all. */
const RETRY_MS_MAX = 20_000;
/** Longest pause between two attempts, when the server sends a longer `retry-after`. */
const PAUSE_MS_MAX = 2_000;

interface RetryingTransportOptions {
  readonly nowMs?: () => number;
  /** Rejects with the signal's reason. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Repeats a request that may be sent twice, as long as the server answers that a retry is worth it (503 with `retry-after`). */
export function retryingTransport(
  send: ApiTransport,
  { nowMs = Date.now, pause = pauseFor }: RetryingTransportOptions = {},
): ApiTransport {
  return async (request) => {
    const untilMs = nowMs() + RETRY_MS_MAX;
    for (;;) {
      const response = await send(request);
      const seconds = Number(response.header("retry-after") ?? Number.NaN);
      if (response.status !== 503 || !request.isRepeatable || Number.isNaN(seconds)) return response;
      const waitMs = Math.min(seconds * 1_000, PAUSE_MS_MAX);
      if (nowMs() + waitMs > untilMs) return response;
      await pause(waitMs, request.signal);
    }
  };
}

function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
