/**
 * Caches answers of management APIs for a few seconds: a service is reconciled whenever one of its pods changes, and its runtime need not
 * be queried each time.
 */
import type { Clock } from "@perdure/base";
import { CACHED_ANSWERS_MAX } from "../limits.js";
import type { AdminResult } from "./admin-clients.js";

interface CachedAnswer<T> {
  readonly atMs: number;
  readonly ids: string;
  readonly answer: AdminResult<T>;
}

export class AnswerCache<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  /** Oldest first. */
  readonly #answers = new Map<string, CachedAnswer<T>>();

  /** `forMs`: how long an answer counts. */
  constructor(clock: Clock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  /** Returns the cached answer for exactly these ids, or the result of `request`; only successful answers are cached. */
  async of(key: string, ids: readonly string[], request: () => Promise<AdminResult<T>>): Promise<AdminResult<T>> {
    const now = this.#clock.monotonicMs();
    const joined = ids.join(" ");
    const before = this.#answers.get(key);
    if (before !== undefined && before.ids === joined && now - before.atMs < this.#forMs) return before.answer;
    this.#answers.delete(key);
    const answer = await request();
    if (answer.kind !== "answered") return answer;
    this.#answers.set(key, { atMs: now, ids: joined, answer });
    if (this.#answers.size > CACHED_ANSWERS_MAX) this.#answers.delete(this.#answers.keys().next().value as string);
    return answer;
  }

  /** Drops the answers of one service. */
  discard(key: string): void {
    this.#answers.delete(key);
  }
}
