/** What the invoker counts; whoever sets up telemetry gives an implementation. */
export interface InvokerMetrics {
  attemptStarted(): void;
  /** @param errorCode of a failed attempt, undefined otherwise */
  attemptEnded(how: "ended" | "suspended" | "failed", errorCode: string | undefined, durationMs: number): void;
}

export const noMetrics: InvokerMetrics = { attemptStarted() {}, attemptEnded() {} };
