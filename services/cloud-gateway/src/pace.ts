/**
 * Paces refusals. A refusal costs as much of the event loop as a small answer, so a flood that is refused at once would still slow other
 * tenants down. The first refusals of an environment or address are prompt; further ones wait for a second or, where many wait, for
 * longer, and so does the connection they came on. They are answered one after the other, since connections that are answered together
 * would all return together. So a flood gets a fixed number of refusals a second, however many connections it uses.
 */
import { type Clock, Ring, type TimerHandle, TokenBucket } from "@perdure/base";
import {
  HELD_REFUSALS_MAX,
  HELD_REFUSALS_TOTAL_MAX,
  PROMPT_REFUSALS_BURST,
  PROMPT_REFUSALS_PER_SECOND,
  REFUSAL_DELAY_MS,
  REFUSAL_SPACING_MS,
} from "./limits.js";

interface HeldRefusal {
  readonly dueMs: number;
  readonly answer: () => void;
}

/** The refusals of one endpoint of an environment, or of one address. */
export class RefusalPace {
  readonly prompt: TokenBucket;
  /** Refusals that wait, in order. */
  readonly held = new Ring<HeldRefusal>();
  lastDueMs = 0;
  timer: TimerHandle | undefined = undefined;

  constructor(nowMs: number) {
    this.prompt = new TokenBucket({ perSecond: PROMPT_REFUSALS_PER_SECOND, burst: PROMPT_REFUSALS_BURST }, nowMs);
  }
}

/** `now`: answer at once. `later`: `answer` is called later. `drop`: too many wait; close the connection without an answer. */
type Pacing = "now" | "later" | "drop";

export class Pacer {
  readonly #clock: Clock;
  /** Paces with refusals that wait. */
  readonly #holding = new Set<RefusalPace>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Refusals that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** `answer` is called later only when the outcome is `later`. */
  pace(pace: RefusalPace, answer: () => void): Pacing {
    const nowMs = this.#clock.monotonicMs();
    if (pace.prompt.take(nowMs)) return "now";
    if (pace.held.length >= HELD_REFUSALS_MAX || this.#waiting >= HELD_REFUSALS_TOTAL_MAX) return "drop";
    pace.lastDueMs = Math.max(nowMs + REFUSAL_DELAY_MS, pace.lastDueMs + REFUSAL_SPACING_MS);
    pace.held.push({ dueMs: pace.lastDueMs, answer });
    this.#waiting++;
    this.#holding.add(pace);
    this.#arm(pace, nowMs);
    return "later";
  }

  /** Answers all refusals that wait. */
  close(): void {
    for (const pace of this.#holding) {
      pace.timer?.cancel();
      pace.timer = undefined;
      while (pace.held.length > 0) this.#answerFirst(pace);
    }
    this.#holding.clear();
  }

  #arm(pace: RefusalPace, nowMs: number): void {
    const first = pace.held.peek();
    if (first === undefined) this.#holding.delete(pace);
    else pace.timer ??= this.#clock.setTimer(Math.max(0, first.dueMs - nowMs), () => this.#release(pace));
  }

  #release(pace: RefusalPace): void {
    pace.timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let first = pace.held.peek(); first !== undefined && first.dueMs <= nowMs; first = pace.held.peek()) {
      this.#answerFirst(pace);
    }
    this.#arm(pace, nowMs);
  }

  #answerFirst(pace: RefusalPace): void {
    const first = pace.held.shift();
    if (first === undefined) return;
    this.#waiting--;
    first.answer();
  }
}
