/**
 * Why: a limit of a test is there to end one that hangs, not to judge the machine. CI's machines stand still now and then, one for more than a
 * minute: there every limit of a test and of a hook is a multiple. What a test measures itself stays as it is.
 */
import { TestEnvironment } from "jest-environment-node";

/** `PATIENCE` in `libs/testkit/src/patience.ts` is the same for what the harness waits for. */
const PATIENCE = process.env.CI === undefined ? 1 : 4;

export default class PatientEnvironment extends TestEnvironment {
  /** Hooks begin many times. */
  #given = new WeakSet();

  /** Jest's runner asks before it reads a limit. */
  handleTestEvent(event, state) {
    if (event.name === "setup") state.testTimeout *= PATIENCE;
    if (event.name === "hook_start") this.#give(event.hook);
    if (event.name === "test_fn_start") this.#give(event.test);
  }

  #give(limited) {
    if (limited.timeout === undefined || this.#given.has(limited)) return;
    this.#given.add(limited);
    limited.timeout *= PATIENCE;
  }
}
