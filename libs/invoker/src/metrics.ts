/** What the invoker counts; whoever sets up telemetry gives an implementation. */
export interface InvokerMetrics {
  /** @param waitedMs since the attempt was due: what it waited for a slot */
  attemptStarted(waitedMs: number): void;
  /** @param errorCode of a failed attempt, undefined otherwise */
  attemptEnded(
    how: "ended" | "suspended" | "failed",
    errorCode: string | undefined,
    durationMs: number,
    transport: AttemptTransport,
  ): void;
  /** An attempt was broken off from outside: it neither ended nor failed. */
  attemptBrokenOff(): void;
  /** An attempt exceeded its rates and is not read for a while. */
  attemptSlowedDown(): void;
  /** More (or fewer) invocations run here that began, or went on after their last suspension, at this time. */
  running(sinceMs: number, change: 1 | -1): void;
  /** More (or fewer, when negative) invocations wait for their next attempt after a failure. */
  backingOff(change: 1 | -1): void;
}

/** How the endpoint is reached; `none`: the attempt ended before that was known. */
export type AttemptTransport = "h1" | "h2" | "lambda" | "none";

export const noMetrics: InvokerMetrics = {
  attemptStarted() {},
  attemptEnded() {},
  attemptBrokenOff() {},
  attemptSlowedDown() {},
  running() {},
  backingOff() {},
};
