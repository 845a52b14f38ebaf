/**
 * Includes a commit in the readiness of a process: its event loop may answer while nothing becomes durable, when its disk or Redis hangs or
 * all threads that write are busy. The commit is tiny, and made at most every few seconds, only when a probe requests it.
 */
import type { Clock } from "@perdure/base";
import { COMMIT_PROBE_EVERY_MS, COMMIT_PROBE_WAIT_MS } from "./limits.js";

export class CommitProbe {
  readonly #commit: () => Promise<void>;
  readonly #clock: Clock;
  /** The commit that is on its way; one at a time, however many probes there are. */
  #pending: Promise<boolean> | undefined;
  #succeededAtMs = Number.NEGATIVE_INFINITY;

  /** `commit` resolves when something was made durable, as commits of partitions are; it may reject. */
  constructor(commit: () => Promise<void>, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
  }

  /** Whether a commit became durable within the last seconds, or does so soon. Never rejects. */
  async isCommitting(): Promise<boolean> {
    if (this.#clock.monotonicMs() - this.#succeededAtMs < COMMIT_PROBE_EVERY_MS) return true;
    this.#pending ??= this.#run();
    const { promise: timedOut, resolve } = Promise.withResolvers<boolean>();
    const timer = this.#clock.setTimer(COMMIT_PROBE_WAIT_MS, () => resolve(false));
    const isDurable = await Promise.race([this.#pending, timedOut]);
    timer.cancel();
    return isDurable;
  }

  async #run(): Promise<boolean> {
    try {
      await this.#commit();
      this.#succeededAtMs = this.#clock.monotonicMs();
      return true;
    } catch {
      return false; // Commits of partitions report the reason.
    } finally {
      this.#pending = undefined;
    }
  }
}
