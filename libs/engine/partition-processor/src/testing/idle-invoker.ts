/** An invoker that does nothing, for tests that play the attempts themselves. */
import type { Invoker } from "@perdure/invoker";

/** Does what `own` implements, and nothing else. */
export function idleInvoker(own: Partial<Invoker> = {}): Invoker {
  return {
    startRun: () => undefined,
    entryStored: () => undefined,
    stopRun: () => undefined,
    requestPause: () => undefined,
    retryNow: () => undefined,
    finishAttempts: async () => undefined,
    status: () => undefined,
    statuses: () => [],
    [Symbol.asyncDispose]: async () => undefined,
    ...own,
  };
}
