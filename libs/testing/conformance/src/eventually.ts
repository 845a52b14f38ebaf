/** Polls for outcomes of a running server, which follow their causes with a delay; tests use it instead of sleeping. */
import { setTimeout as delay } from "node:timers/promises";
import { InvariantError } from "@perdure/base";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { EVENTUALLY_MS, EVENTUALLY_PAUSE_MS_MAX, EVENTUALLY_PAUSE_MS_MIN } from "./limits.js";

/**
 * Calls `check` until it neither throws nor returns undefined or false, and resolves with its result. Rejects with the last failure as
 * cause when `withinMs` times `TIMEOUT_FACTOR` have passed. A defect in the check, or a broken invariant, rejects at once, because retrying
 * cannot help.
 */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs: number = EVENTUALLY_MS,
): Promise<T> {
  const waitedMs = withinMs * TIMEOUT_FACTOR;
  const startedAt = performance.now();
  for (;;) {
    let cause: unknown;
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      if (isDefect(error)) throw error;
      cause = error;
    }
    const tookMs = performance.now() - startedAt;
    if (tookMs > waitedMs) {
      const reason = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`not within ${waitedMs} ms: ${what}${reason}`, { cause });
    }
    await delay(Math.min(EVENTUALLY_PAUSE_MS_MAX, Math.max(EVENTUALLY_PAUSE_MS_MIN, tookMs / 10)));
  }
}

/**
 * Whether an error is a defect of code: a broken invariant, or a `TypeError`. `fetch` also rejects with a `TypeError` while no server
 * listens; that one has a cause.
 */
function isDefect(error: unknown): boolean {
  if (error instanceof InvariantError) return true;
  // Compared by name: suites run in a realm of their own, so errors of Node's modules are instances of another `TypeError`.
  return error instanceof Error && error.name === "TypeError" && error.cause === undefined;
}
