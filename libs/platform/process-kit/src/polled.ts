/** Polls numbers that need a request (to a server, to a database), so that a scrape need not wait for them. */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import { POLL_METRICS_MS } from "./limits.js";

export { POLL_METRICS_MS };

interface Polled extends AsyncDisposable {
  /** Since the last round that succeeded, in seconds; since the beginning before the first. */
  readonly ageSeconds: number;
}

/** Polls at once and then every `POLL_METRICS_MS`, one round after the other. A failed round is logged, and polling continues. */
export function pollMetrics(
  what: string,
  poll: () => Promise<void>,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Polled {
  const { clock, logger } = ports;
  let timer: TimerHandle | undefined;
  let isClosed = false;
  let succeededAtMs = clock.monotonicMs();
  const round = async (): Promise<void> => {
    try {
      await poll();
      succeededAtMs = clock.monotonicMs();
    } catch (cause) {
      logger.debug({ what, cause }, "values of metrics could not be read");
    }
    if (!isClosed) timer = clock.setTimer(POLL_METRICS_MS, begin);
  };
  let running = Promise.resolve();
  const begin = (): void => {
    running = round();
  };
  begin();
  return {
    get ageSeconds() {
      return (clock.monotonicMs() - succeededAtMs) / 1000;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      timer?.cancel();
      await running;
    },
  };
}
