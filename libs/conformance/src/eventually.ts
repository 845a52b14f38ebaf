/** Why: outcomes of a running server come a little later than their causes; tests poll for them and never just sleep. */
import { setTimeout as delay } from "node:timers/promises";
import { PATIENCE } from "@perdure/testkit";
import { EVENTUALLY_MS, EVENTUALLY_PAUSE_MS } from "./limits.js";

/**
 * Calls `check` until it neither throws nor gives undefined or false, and resolves with what it gave. Rejects with the last
 * failure as cause when `withinMs` have passed, on a machine of CI some times that.
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs: number = EVENTUALLY_MS,
): Promise<T> {
  const waitedMs = withinMs * PATIENCE;
  const deadline = performance.now() + waitedMs;
  for (;;) {
    let cause: unknown;
    try {
      const found = await check();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      const reason = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`not within ${waitedMs} ms: ${what}${reason}`, { cause });
    }
    await delay(EVENTUALLY_PAUSE_MS);
  }
}
