/** Why: outcomes of a running server come a little later than their causes; tests poll for them and never just sleep. */
import { setTimeout as delay } from "node:timers/promises";
import { InvariantError } from "@perdure/base";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { EVENTUALLY_MS, EVENTUALLY_PAUSE_MS } from "./limits.js";

/**
 * Calls `check` until it neither throws nor gives undefined or false, and resolves with what it gave. Rejects with the last
 * failure as cause when `withinMs` times `PATIENCE` have passed. A mistake in the check, or a broken invariant, rejects at once: it
 * will not go away, and whoever waits for it learns nothing.
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs: number = EVENTUALLY_MS,
): Promise<T> {
  const waitedMs = withinMs * TIMEOUT_FACTOR;
  const deadline = performance.now() + waitedMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      if (isDefect(error)) throw error;
      cause = error;
    }
    if (performance.now() > deadline) {
      const reason = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`not within ${waitedMs} ms: ${what}${reason}`, { cause });
    }
    await delay(EVENTUALLY_PAUSE_MS);
  }
}

/**
 * Whether an error is a defect of code: a broken invariant, or a `TypeError`. `fetch` rejects with a `TypeError` as well when nobody listens
 * yet; it has a cause, which those of code have not.
 */
function isDefect(error: unknown): boolean {
  if (error instanceof InvariantError) return true;
  // By name: suites run in a realm of their own, and an error of Node's own modules is an instance of another `TypeError`.
  return error instanceof Error && error.name === "TypeError" && error.cause === undefined;
}
