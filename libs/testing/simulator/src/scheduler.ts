/**
 * The owner of time and order. Everything that can happen later (a reply, a write, a timer, a crash) is an event of the virtual clock,
 * and its delay is drawn from the seed. Events run one at a time; between two of them all promises that can continue do so, in the one
 * order of JavaScript. So a seed determines a world.
 */
import type { TimerHandle } from "@perdure/base";
import { SeededRandom, VirtualClock } from "@perdure/testkit";

/** A resolved promise, whose reactions are microtasks. */
const RESOLVED = Promise.resolve();

export class Scheduler {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  steps = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  after(delayMs: number, task: () => void): TimerHandle {
    return this.clock.setTimer(delayMs, task);
  }

  /** Draws a delay with a long tail: mostly a small part of `typicalMs`, sometimes many times as long. */
  latency(typicalMs: number): number {
    const u = this.random.float();
    if (u < 0.02) return typicalMs * (5 + 45 * this.random.float());
    return typicalMs * 2 * this.random.float() * u;
  }

  /**
   * Runs events, each with all that follows from it, until `isOver` returns true, which is called before each event. Resolves with false when
   * no event is left. Not a loop that awaits: that costs two promises and their reactions for each event.
   */
  run(isOver: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const next = (): void => {
        try {
          if (isOver()) return resolve(true);
          if (!this.clock.runNext()) return resolve(false);
        } catch (cause) {
          return reject(cause);
        }
        this.steps++;
        this.soon(turn);
      };
      const turn = (): void => void RESOLVED.then(next);
      next();
    });
  }

  /**
   * Runs a task when no microtask is left, and after the tasks given before it: `setImmediate` without its turn of the event loop, which costs
   * a microsecond and system calls. Nothing in a simulation does real I/O, so nothing else can come first.
   */
  readonly soon = (task: () => void): void => {
    if (this.#soon.push(task) === 1) process.nextTick(this.#runSoonest);
  };

  readonly #soon: (() => void)[] = [];

  readonly #runSoonest = (): void => {
    (this.#soon[0] as () => void)(); // The task stays in the queue until it has run: a task that it queues is not the first.
    this.#soon.shift();
    // Ticks run before microtasks when they are queued by a tick, and after them when they are queued by a microtask.
    if (this.#soon.length > 0) void RESOLVED.then(this.#tickLater);
  };

  readonly #tickLater = (): void => process.nextTick(this.#runSoonest);
}

/** One direction of a connection: items arrive in order, each after its own delay. */
export class Pipe<T> {
  readonly #scheduler: Scheduler;
  readonly #latencyMs: number;
  readonly #arrive: (item: T) => void;
  #lastArrivalMs = 0;
  #broken = false;
  /** Items that arrived while none was requested. */
  readonly #held: T[] = [];
  #paused = false;

  constructor(scheduler: Scheduler, latencyMs: number, arrive: (item: T) => void) {
    this.#scheduler = scheduler;
    this.#latencyMs = latencyMs;
    this.#arrive = arrive;
  }

  push(item: T): void {
    if (this.#broken) return;
    const nowMs = this.#scheduler.clock.monotonicMs();
    const atMs = Math.max(this.#lastArrivalMs, nowMs + this.#scheduler.latency(this.#latencyMs));
    this.#lastArrivalMs = atMs;
    this.#scheduler.after(atMs - nowMs, () => {
      if (this.#broken) return;
      if (this.#paused || this.#held.length > 0) this.#held.push(item);
      else this.#arrive(item);
    });
  }

  /** Breaks the connection: nothing arrives any more, including messages under way. */
  break(): void {
    this.#broken = true;
    this.#held.length = 0;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#release();
  }

  #release(): void {
    if (this.#held.length === 0) return;
    this.#scheduler.after(this.#scheduler.latency(this.#latencyMs), () => {
      const item = this.#paused || this.#broken ? undefined : this.#held.shift();
      if (item === undefined) return;
      this.#arrive(item);
      this.#release();
    });
  }
}
