/**
 * Why: a server whose event loop answers may still make nothing durable, when its disk hangs or the threads that write are taken. So its
 * readiness includes a commit: an empty one, at most each few seconds and only when a probe requests it.
 */
import type { Clock } from "@perdure/base";
import type { KeyValue } from "@perdure/store";
import { COMMIT_PROBE_EVERY_MS, COMMIT_PROBE_WAIT_MS } from "./limits.js";

/** A key that is never written: no partition has it, and deleting nothing is a commit like any other. */
const NO_KEY = "\u00ffcommit probe";

export class CommitProbe {
  readonly #store: Pick<KeyValue, "write">;
  readonly #clock: Clock;
  /** The commit that is on its way; one at a time, however many probes there are. */
  #pending: Promise<boolean> | undefined;
  #succeededAtMs = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<KeyValue, "write">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether a commit became durable within the last seconds, or does so soon. Never rejects. */
  async isCommitting(): Promise<boolean> {
    if (this.#clock.monotonicMs() - this.#succeededAtMs < COMMIT_PROBE_EVERY_MS) return true;
    this.#pending ??= this.#commit();
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = this.#clock.setTimer(COMMIT_PROBE_WAIT_MS, () => resolve(false));
    const isDurable = await Promise.race([this.#pending, late]);
    timer.cancel();
    return isDurable;
  }

  async #commit(): Promise<boolean> {
    try {
      await this.#store.write(new Map([[NO_KEY, null]]));
      this.#succeededAtMs = this.#clock.monotonicMs();
      return true;
    } catch {
      return false; // Commits of partitions report why.
    } finally {
      this.#pending = undefined;
    }
  }
}
