/** Waits for conditions that depend on sockets, files or other threads, and so on more turns of the event loop than a test can count. */
import { TIMEOUT_FACTOR } from "./timeout-factor.js";

/** Less than a test may take, so that a condition that never holds is named. */
const UNTIL_MS = 4_000 * TIMEOUT_FACTOR;
/** A machine that stood still has not checked the condition meanwhile. */
const CHECKS_MIN = 1_000;
const PAUSE_MS = 2;

/** Resolves when the condition holds. Rejects with `what` when it did not for 16 seconds and a thousand checks. */
export async function until(holds: () => boolean | Promise<boolean>, what = "the condition holds"): Promise<void> {
  const startedAt = performance.now();
  for (let checks = 0; !(await holds()); checks++) {
    if (checks > CHECKS_MIN && performance.now() - startedAt > UNTIL_MS) throw new Error(`not within ${UNTIL_MS} ms: ${what}`);
    await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
