/**
 * Moves the clock of an environment: on request, and in the mode `auto` by itself. Before each move it waits until nothing is in flight:
 * no request on its way, no handler at work, no message or commit of the engine.
 */
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "@perdure/base";
import type { RunningAttempt } from "@perdure/invoker";
import { QUIET_TURNS, SILENCE_MS, TIMER_TURNS, WORK_MS_MAX } from "../limits.js";
import type { EngineActivity } from "./activity.js";
import type { TestClock } from "./test-clock.js";

/** The parts of the environment whose work must be over. */
export interface UnfinishedWork {
  /** Streams to endpoints. */
  readonly openStreams: number;
  attempts(): Iterable<RunningAttempt>;
  /** Time of the next sleep, delayed start, retry or free limit for which an invocation waits; undefined when none waits for time. */
  nextWakeUpMs(): Promise<number | undefined>;
  /** Names the handlers that work, for an error. */
  describe(): readonly string[];
}

export class TimeMover {
  readonly #clock: TestClock;
  readonly #activity: EngineActivity;
  readonly #inFlight: UnfinishedWork;
  /** Moves follow each other. */
  #moving: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(clock: TestClock, activity: EngineActivity, inFlight: UnfinishedWork) {
    this.#clock = clock;
    this.#activity = activity;
    this.#inFlight = inFlight;
  }

  /** Begins to jump to the next wake-up whenever nothing is in flight. Resolves when the mover is stopped. */
  async jumpByItself(): Promise<void> {
    while (!this.#isStopped) {
      const changed = this.#activity.next();
      if (await this.#isQuiet()) {
        const next = await this.#inFlight.nextWakeUpMs();
        if (next !== undefined && !this.#isStopped) {
          await this.moveTo(next).catch(() => undefined); // A handler began to work meanwhile; the next activity tries again.
          continue;
        }
      }
      await changed;
    }
  }

  /** Fires what is due on the way, each at its own time. Rejects when a handler works longer than `WORK_MS_MAX`. */
  moveTo(toMs: number): Promise<void> {
    const move = this.#moving.then(() => this.#move(toMs));
    this.#moving = move.catch(() => undefined);
    return move;
  }

  /** Resolves when nothing is in flight. Rejects when a handler works longer than `WORK_MS_MAX`. */
  async untilQuiet(): Promise<void> {
    const sinceMs = systemClock.monotonicMs();
    while (!this.#isStopped && !(await this.#isQuiet())) {
      if (systemClock.monotonicMs() - sinceMs < WORK_MS_MAX) continue;
      const who = this.#inFlight.describe().join(", ") || "a request";
      throw new Error(`Time cannot move: ${who} has been at work for ${WORK_MS_MAX / 1000} s of real time.`);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#activity.bump();
  }

  async #move(toMs: number): Promise<void> {
    await this.untilQuiet();
    for (;;) {
      const dueMs = this.#clock.nextDueMs;
      if (dueMs === undefined || dueMs > toMs || this.#isStopped) break;
      const { count } = this.#activity;
      this.#clock.moveTo(dueMs);
      for (let turn = 0; turn < TIMER_TURNS && this.#activity.count === count; turn++) await nextTurn();
      if (this.#activity.count !== count) await this.untilQuiet();
    }
    this.#clock.moveTo(toMs);
    await this.untilQuiet();
  }

  /** Returns true after `QUIET_TURNS` turns without activity; false after a wait for what is in flight. */
  async #isQuiet(): Promise<boolean> {
    const { count } = this.#activity;
    for (let turn = 0; turn < QUIET_TURNS; turn++) {
      await nextTurn();
      if (this.#activity.count !== count) return false;
    }
    if (this.#activity.requests.size > 0) return this.#pause();
    const waiting = [...this.#inFlight.attempts()];
    const declared = waiting.filter(({ blockage }) => blockage === "declared").length;
    if (this.#inFlight.openStreams <= declared) return true;
    return this.#suspendSilent(waiting);
  }

  /** Handlers that do not report what they await suspend when their request ends; those that work continue. */
  async #suspendSilent(attempts: readonly RunningAttempt[]): Promise<false> {
    const { count } = this.#activity;
    await this.#pause();
    if (this.#activity.count !== count) return false;
    for (const { blockage, suspend } of attempts) if (blockage === "evident" || blockage === "possible") suspend();
    return false;
  }

  async #pause(): Promise<false> {
    await Promise.race([this.#activity.next(), delay(SILENCE_MS, undefined, { ref: false })]);
    return false;
  }
}
