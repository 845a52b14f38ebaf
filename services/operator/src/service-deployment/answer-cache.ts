/**
 * Caches answers of management APIs for a few seconds: a service is reconciled whenever one of its pods changes, and its runtime need not
 * be queried each time.
 */
import { BoundedCache, type Clock } from "@perdure/base";
import { CACHED_ANSWERS_MAX } from "../limits.js";
import type { AdminResult } from "./admin-clients.js";

interface CachedAnswer<T> {
  readonly ids: string;
  readonly answer: AdminResult<T>;
}

export class AnswerCache<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  readonly #answers: BoundedCache<string, CachedAnswer<T>>;

  /** `forMs`: how long an answer counts, from its request on. */
  constructor(clock: Clock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
    this.#answers = new BoundedCache({ entriesMax: CACHED_ANSWERS_MAX, expiry: { clock, ttlMs: forMs } });
  }

  /** Returns the cached answer for exactly these ids, or the result of `request`; only successful answers are cached. */
  async of(key: string, ids: readonly string[], request: () => Promise<AdminResult<T>>): Promise<AdminResult<T>> {
    const joined = ids.join(" ");
    const before = this.#answers.get(key);
    if (before?.ids === joined) return before.answer;
    this.#answers.delete(key);
    const requestedAtMs = this.#clock.monotonicMs();
    const answer = await request();
    if (answer.kind !== "answered") return answer;
    this.#answers.set(key, { ids: joined, answer }, this.#forMs - (this.#clock.monotonicMs() - requestedAtMs));
    return answer;
  }

  /** Drops the answers of one service. */
  discard(key: string): void {
    this.#answers.delete(key);
  }
}
