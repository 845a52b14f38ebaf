/**
 * Removes copies of deletions when the time to undo them is over, also when no request arrives and after a restart. Each management API
 * does so for the deletions that it carried out, and at intervals for those of others, which may have ended.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { MetadataStore } from "@perdure/metadata";
import { DELETED_COPIES_CHECK_MS, DELETED_COPIES_RETRY_MS } from "../limits.js";
import { storedOperations } from "./record.js";
import { dropCopies } from "./undo-deletion.js";

interface DeletedCopiesPorts {
  readonly metadata: Pick<MetadataStore, "list" | "write">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DeletedCopies implements AsyncDisposable {
  readonly #ports: DeletedCopiesPorts;
  #timer: TimerHandle | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #removal: Promise<void> | undefined;
  #isStopped = false;

  /** Removes what is over, and begins to wait for the end of the others. */
  constructor(ports: DeletedCopiesPorts) {
    this.#ports = ports;
    this.#removal = this.#remove();
  }

  /** A copy is kept that ends at `untilMs`. */
  kept(untilMs: number): void {
    // A removal under way may have read the operations before this one was stored.
    if (untilMs < this.#dueAtMs) this.#arm(untilMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#removal;
  }

  #arm(dueAtMs: number): void {
    if (this.#isStopped) return;
    this.#timer?.cancel();
    this.#dueAtMs = dueAtMs;
    const { clock } = this.#ports;
    this.#timer = clock.setTimer(Math.max(0, dueAtMs - clock.nowMs()), () => {
      this.#dueAtMs = Number.POSITIVE_INFINITY;
      const before = this.#removal;
      this.#removal = before === undefined ? this.#remove() : before.then(() => this.#remove());
    });
  }

  async #remove(): Promise<void> {
    const { metadata, clock, logger } = this.#ports;
    try {
      const stored = await storedOperations(metadata);
      await dropCopies(this.#ports, stored, 0);
      const nowMs = clock.nowMs();
      const ends = stored
        .filter(({ record }) => record.copyBytes > 0 && record.untilMs > nowMs)
        .map(({ record }) => record.untilMs);
      this.#armEarlier(Math.min(nowMs + DELETED_COPIES_CHECK_MS, ...ends));
    } catch (cause) {
      logger.warn({ cause }, "copies of deletions could not be removed");
      this.#armEarlier(clock.nowMs() + DELETED_COPIES_RETRY_MS);
    }
  }

  #armEarlier(dueAtMs: number): void {
    if (dueAtMs < this.#dueAtMs) this.#arm(dueAtMs);
  }
}
