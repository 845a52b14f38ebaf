/**
 * Waits for the dependencies of a process that was started before them: it logs the reason from time to time and is not ready, instead of
 * ending and being restarted again and again.
 */
import { Backoff, type Clock, type Logger, PerdureError, pause, type Random } from "@perdure/base";
import { AVAILABLE_FIRST_MS, AVAILABLE_LONGEST_MS } from "./limits.js";

interface WaitingPorts {
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

/**
 * Tries until it works or fails with anything but STO0001 (storage cannot be reached). Rejects with OPS0004 when the signal fires.
 * `what` is for the log: "the database".
 */
export async function untilAvailable<T>(
  what: string,
  attempt: () => Promise<T>,
  { clock, random, logger }: WaitingPorts,
  signal: AbortSignal,
): Promise<T> {
  const backoff = new Backoff({ firstMs: AVAILABLE_FIRST_MS, longestMs: AVAILABLE_LONGEST_MS }, random);
  for (;;) {
    if (signal.aborted) throw new PerdureError("OPS0004", "the process is stopping");
    try {
      return await attempt();
    } catch (cause) {
      if (!(cause instanceof PerdureError) || cause.code !== "STO0001") throw cause;
      const pauseMs = backoff.next();
      logger.warn({ reason: cause.detail, pauseMs }, `${what} is not there yet; trying again`);
      await pause(clock, pauseMs, signal);
    }
  }
}
