/**
 * Why: a service is looked at whenever a pod of it changes, and its runtime need not be asked each time: what it said a few seconds ago
 * is remembered for as long as people wait between two questions anyway.
 */
import type { Clock } from "@perdure/base";
import { LOOKS_MAX } from "../limits.js";
import type { Answer } from "./admin-doors.js";

interface Look<T> {
  readonly atMs: number;
  readonly ids: string;
  readonly answer: Answer<T>;
}

export class Looks<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  /** Oldest first. */
  readonly #looks = new Map<string, Look<T>>();

  /** `forMs`: how long an answer counts. */
  constructor(clock: Clock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  /** What was said of these very ids lately, or what `ask` says now; only answers are remembered. */
  async of(key: string, ids: readonly string[], ask: () => Promise<Answer<T>>): Promise<Answer<T>> {
    const now = this.#clock.monotonicMs();
    const joined = ids.join(" ");
    const before = this.#looks.get(key);
    if (before !== undefined && before.ids === joined && now - before.atMs < this.#forMs) return before.answer;
    this.#looks.delete(key);
    const answer = await ask();
    if (answer.kind !== "answered") return answer;
    this.#looks.set(key, { atMs: now, ids: joined, answer });
    if (this.#looks.size > LOOKS_MAX) this.#looks.delete(this.#looks.keys().next().value as string);
    return answer;
  }

  /** Of one service. */
  forget(key: string): void {
    this.#looks.delete(key);
  }
}
