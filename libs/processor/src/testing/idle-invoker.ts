/** Why: where a test plays the attempts itself, the invoker has nothing to do but to be there. */
import type { Invoker } from "@perdure/invoker";

/** Does what `own` says, and else nothing. */
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
