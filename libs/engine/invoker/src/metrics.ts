/** Counters of the invoker; the code that sets up telemetry implements them. */
export interface InvokerMetrics {
  /** @param waitedMs wait for a slot since the attempt was due */
  attemptStarted(waitedMs: number): void;
  /** @param errorCode of a failed attempt, undefined otherwise */
  attemptEnded(
    how: "ended" | "suspended" | "failed",
    errorCode: string | undefined,
    durationMs: number,
    transport: AttemptTransport,
  ): void;
  /** An attempt was cut off from outside: it neither ended nor failed. */
  attemptBrokenOff(): void;
  /** An attempt exceeded its rates and is not read for a while. */
  attemptSlowedDown(): void;
  /** The number of invocations running here that began, or continued after a suspension, at `sinceMs` grew or shrank by one. */
  running(sinceMs: number, change: 1 | -1): void;
  /** The number of invocations that wait for their next attempt after a failure grew or shrank by one. */
  backingOff(change: 1 | -1): void;
}

/** Transport to the endpoint; `none`: the attempt ended before that was decided. */
export type AttemptTransport = "h1" | "h2" | "lambda" | "none";

export const noMetrics: InvokerMetrics = {
  attemptStarted() {},
  attemptEnded() {},
  attemptBrokenOff() {},
  attemptSlowedDown() {},
  running() {},
  backingOff() {},
};
