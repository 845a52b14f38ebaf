/**
 * Roles and schemas in the cell's database, which all environments share. It may be down or refuse; a failure is cached for a growing
 * pause, so that the many passes do not all try again.
 */
import { Backoff, type Clock, type Logger, PerdureError, type Random } from "@perdure/base";
import type { EnvironmentDatabaseOptions, PrepareOptions, PrepareOutcome } from "@perdure/postgres";
import { DATABASE_BACKOFF } from "../limits.js";

/** Creates and removes roles and schemas; `@perdure/postgres` outside tests. */
export interface DatabaseDriver {
  prepare(options: PrepareOptions, signal: AbortSignal): Promise<PrepareOutcome>;
  remove(options: EnvironmentDatabaseOptions, signal: AbortSignal): Promise<void>;
}

type DatabaseAttempt<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "failed"; readonly error: PerdureError; readonly againMs: number };

interface DatabasesPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly driver: DatabaseDriver;
}

interface Failed {
  readonly backoff: Backoff;
  readonly error: PerdureError;
  readonly untilMs: number;
}

export class EnvironmentDatabases {
  readonly #ports: DatabasesPorts;
  /** Failures by the name of the environment; entries of deleted environments are removed. */
  readonly #failed = new Map<string, Failed>();

  constructor(ports: DatabasesPorts) {
    this.#ports = ports;
  }

  /** Rejects only with the reason of the signal. */
  prepare(environment: string, options: PrepareOptions, signal: AbortSignal): Promise<DatabaseAttempt<PrepareOutcome>> {
    return this.#attempt(environment, () => this.#ports.driver.prepare(options, signal), signal);
  }

  remove(environment: string, options: EnvironmentDatabaseOptions, signal: AbortSignal): Promise<DatabaseAttempt<void>> {
    return this.#attempt(environment, () => this.#ports.driver.remove(options, signal), signal);
  }

  discard(environment: string): void {
    this.#failed.delete(environment);
  }

  async #attempt<T>(environment: string, work: () => Promise<T>, signal: AbortSignal): Promise<DatabaseAttempt<T>> {
    const { clock, random, logger } = this.#ports;
    const before = this.#failed.get(environment);
    const leftMs = (before?.untilMs ?? 0) - clock.monotonicMs();
    if (before !== undefined && leftMs > 0) return { kind: "failed", error: before.error, againMs: Math.ceil(leftMs) };
    try {
      const result = await work();
      this.#failed.delete(environment);
      return { kind: "done", result };
    } catch (cause) {
      signal.throwIfAborted();
      const error = PerdureError.from(cause);
      const backoff = before?.backoff ?? new Backoff(DATABASE_BACKOFF, random);
      const againMs = Math.max(1, backoff.next());
      this.#failed.set(environment, { backoff, error, untilMs: clock.monotonicMs() + againMs });
      logger.warn(
        { environment, code: error.code, reason: error.detail, pauseMs: againMs },
        "cannot prepare the database of an environment",
      );
      return { kind: "failed", error, againMs };
    }
  }
}
