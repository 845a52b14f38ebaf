/** Limits attempts. They are counted in the database, for all processes; a subject above its limit is refused without a query. */
import { BoundedCache, type Clock } from "@perdure/base";
import { TenancyApiError } from "@perdure/cloud-requests";
import type { TenancyDatabase } from "@perdure/postgres";
import { BLOCKED_CACHED_MAX, RATES } from "./limits.js";

export type RateName = keyof typeof RATES;
/** Maxima that settings override; others are those of `RATES`. */
export type RateMaxima = Partial<Readonly<Record<RateName, number>>>;

export class Rates {
  readonly #database: TenancyDatabase;
  readonly #clock: Clock;
  readonly #maxima: RateMaxima;
  /** End of the window in which a subject is refused (wall time), by rate and subject. */
  readonly #blockedUntilMs = new BoundedCache<string, number>({ entriesMax: BLOCKED_CACHED_MAX });

  constructor(database: TenancyDatabase, clock: Clock, maxima: RateMaxima = {}) {
    this.#maxima = maxima;
    this.#database = database;
    this.#clock = clock;
  }

  /** Counts an attempt before it is made. Throws PERD0429 with `Retry-After`. */
  async take(rate: RateName, subject: string): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const name = `${rate} ${subject}`;
    const blockedUntilMs = this.#blockedUntilMs.peek(name);
    if (blockedUntilMs !== undefined && blockedUntilMs > nowMs) throw tooMany(blockedUntilMs - nowMs);
    this.#blockedUntilMs.delete(name);
    const { windowMs } = RATES[rate];
    const max = this.#maxima[rate] ?? RATES[rate].max;
    const { count, endsAtMs } = await this.#database.tables.attempts.count(rate, subject, windowMs, nowMs);
    if (count <= max) return;
    this.#blockedUntilMs.set(name, endsAtMs);
    throw tooMany(endsAtMs - nowMs);
  }

  async clear(rate: RateName, subject: string): Promise<void> {
    this.#blockedUntilMs.delete(`${rate} ${subject}`);
    await this.#database.tables.attempts.delete(rate, subject);
  }
}

function tooMany(waitMs: number): TenancyApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new TenancyApiError("PERD0429", `Too many attempts: try again in ${Math.ceil(seconds / 60)} min`, {
    "retry-after": String(seconds),
  });
}
