/**
 * Migrates the database at its first use, for processes that must start, and continue, without a database. Until the migration has
 * succeeded callers get the reason of the last failure; no call waits long for it, and a database that is down is not contacted for every
 * call.
 */
import { type Clock, type Logger, PerdureError } from "@perdure/base";
import { MIGRATE_AGAIN_MS } from "./limits.js";
import { migrateDatabase } from "./metadata-store.js";

interface DeferredMigrationPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DeferredMigration {
  readonly #url: string;
  readonly #ports: DeferredMigrationPorts;
  #isDone = false;
  #attempt: Promise<void> | undefined;
  #failure: PerdureError | undefined;
  #failedAtMs = 0;
  #isClosed = false;

  constructor(url: string, ports: DeferredMigrationPorts) {
    this.#url = url;
    this.#ports = ports;
  }

  /** Resolves when the database is migrated. Rejects with STO0001, also after `withinMs`, or META0010, as `migrateDatabase` does. */
  async done(withinMs: number): Promise<void> {
    if (this.#isDone) return;
    const { clock } = this.#ports;
    if (this.#attempt === undefined) {
      if (this.#failure !== undefined && clock.monotonicMs() - this.#failedAtMs < MIGRATE_AGAIN_MS) throw this.#failure;
      this.#attempt = this.#try();
    }
    const timeout = Promise.withResolvers<void>();
    const timer = clock.setTimer(withinMs, () =>
      timeout.reject(new PerdureError("STO0001", "the database cannot be reached, or is still being migrated")),
    );
    try {
      await Promise.race([this.#attempt, timeout.promise]);
    } finally {
      timer.cancel();
    }
    if (!this.#isDone) throw this.#failure ?? new PerdureError("STO0001", "the database is not migrated");
  }

  /** Later failures are not reported. */
  close(): void {
    this.#isClosed = true;
  }

  /** Never rejects. */
  async #try(): Promise<void> {
    const { clock, logger } = this.#ports;
    try {
      await migrateDatabase(this.#url, logger);
      this.#isDone = true;
    } catch (cause) {
      const error = PerdureError.from(cause);
      const hasChanged = error.message !== this.#failure?.message && !this.#isClosed;
      if (hasChanged) logger.warn({ code: error.code, reason: error.detail }, "the database of the archive is not ready");
      this.#failure = error;
      this.#failedAtMs = clock.monotonicMs();
    }
    this.#attempt = undefined;
  }
}
