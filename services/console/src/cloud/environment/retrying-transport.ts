/** Why: an environment that was resumed, or slept, takes some seconds to answer; a page that only asks waits for that, as command lines do. */
import type { ApiTransport } from "@perdure/admin-client";

/** Longer than any runtime takes that comes up at all. */
const RETRY_MS_MAX = 20_000;
/** Between two questions, when the door asks for more. */
const PAUSE_MS_MAX = 2_000;

export interface RetryingTransportOptions {
  readonly nowMs?: () => number;
  /** Rejects with the signal's reason. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Asks again what may be asked twice, as long as the door says that it is worth it (503 with `retry-after`). */
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
