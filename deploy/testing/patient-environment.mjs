/**
 * Multiplies the timeouts of tests and hooks. A timeout ends a test that hangs; it does not measure the machine, and machines stall now and
 * then, one of CI's for more than a minute. Durations that a test measures itself are not changed.
 */
import { TestEnvironment } from "jest-environment-node";
import { LIMIT_OF_SUITE } from "./shared-globals.mjs";

/** `TIMEOUT_FACTOR` in `libs/testing/testkit/src/timeout-factor.ts` is the same for what the harness waits for. */
const TIMEOUT_FACTOR = 4;

export default class PatientEnvironment extends TestEnvironment {
  /** Hooks begin many times. */
  #given = new WeakSet();

  /** Jest's runner calls this before it reads a timeout. */
  handleTestEvent(event, state) {
    if (event.name === "setup") state.testTimeout *= TIMEOUT_FACTOR;
    // Jest has replaced the limit by that of `jest.setTimeout` in this moment, if there is one.
    if (event.name === "run_start" && this.global[LIMIT_OF_SUITE] !== undefined) state.testTimeout *= TIMEOUT_FACTOR;
    if (event.name === "hook_start") this.#give(event.hook);
    if (event.name === "test_fn_start") this.#give(event.test);
  }

  #give(limited) {
    if (limited.timeout === undefined || this.#given.has(limited)) return;
    this.#given.add(limited);
    limited.timeout *= TIMEOUT_FACTOR;
  }
}
