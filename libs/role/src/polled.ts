/** Why: some numbers have to be asked for (of a server, of a database) before somebody looks; whoever scrapes must not wait for that. */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import { POLL_METRICS_MS } from "./limits.js";

export { POLL_METRICS_MS };

export interface Polled extends AsyncDisposable {
  /** Since the last round that succeeded, in seconds; since the beginning before the first. */
  readonly ageSeconds: number;
}

/** Asks at once and then every `POLL_METRICS_MS`, one round after the other. A round that fails is told in the log and is not the last. */
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
