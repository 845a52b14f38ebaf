/**
 * A process that can be killed at any moment, and stopped and continued (SIGSTOP, a frozen machine) without noticing. Timers and bytes
 * enter it through here: at once, when it continues, or never.
 */
import { LeaderClock } from "../leader-clock.js";
import type { SimulatedWorld } from "../world.js";

type TaskSource = "timer" | "io";

export class SimulatedProcess {
  readonly name: string;
  readonly clock: LeaderClock;
  readonly #world: SimulatedWorld;
  #alive = true;
  #paused = false;
  #wokeAtMs = Number.NEGATIVE_INFINITY;
  #waiting: Record<TaskSource, (() => void)[]> = { timer: [], io: [] };
  /** Tasks that waited when the process continued and have not run yet. */
  readonly #backlog: (() => void)[] = [];
  readonly #atEnd = new Set<() => void>();

  constructor(name: string, world: SimulatedWorld) {
    this.name = name;
    this.#world = world;
    this.clock = new LeaderClock(world.scheduler, (fire) => this.enter(fire, "timer"));
  }

  get alive(): boolean {
    return this.#alive;
  }
  get paused(): boolean {
    return this.#paused;
  }
  /** Continued at this very moment: it has not read the clock yet. */
  get isDrowsy(): boolean {
    return this.#wokeAtMs === this.#world.scheduler.clock.monotonicMs();
  }

  enter(task: () => void, source: TaskSource = "io"): void {
    if (!this.#alive) return;
    if (this.#paused) this.#waiting[source].push(task);
    else if (this.#backlog.length > 0) this.#runLater(task);
    else task();
  }

  /** Stops the process for this time. */
  pause(forMs: number): void {
    if (!this.#alive || this.#paused) return;
    this.#world.trace.note("pause", () => `${this.name} for ${Math.round(forMs)} ms`);
    this.#paused = true;
    this.#waiting.io.push(...this.#backlog.splice(0));
    this.#world.scheduler.after(forMs, () => this.wake());
  }

  /** Runs all waiting tasks; whether timers or sockets come first depends on where it was stopped. */
  wake(): void {
    if (!this.#alive || !this.#paused) return;
    this.#world.trace.note("wake", () => this.name);
    const { scheduler } = this.#world;
    const { timer, io } = this.#waiting;
    this.#waiting = { timer: [], io: [] };
    this.#paused = false;
    this.#wokeAtMs = scheduler.clock.monotonicMs();
    const tasks = scheduler.random.chance(0.5) ? [...timer, ...io] : [...io, ...timer];
    for (const task of tasks) this.#runLater(task);
  }

  /**
   * Runs tasks one at a time: the first may stop the second. A task that arrives meanwhile comes after them, also when its delay is too
   * short to move the clock: otherwise a later message of a stream overtakes an earlier one.
   */
  #runLater(task: () => void): void {
    this.#backlog.push(task);
    this.#world.scheduler.after(0, () => this.#backlog.shift()?.());
  }

  /** Called once when it ends, however it ends. */
  onEnd(callback: () => void): () => void {
    this.#atEnd.add(callback);
    return () => this.#atEnd.delete(callback);
  }

  /** Ends the process: nothing that it had in memory takes effect any more. */
  end(why: string): void {
    if (!this.#alive) return;
    this.#world.trace.note("crash", () => `${this.name} ${why}`);
    this.#alive = false;
    this.#waiting = { timer: [], io: [] };
    this.#backlog.length = 0;
    const callbacks = [...this.#atEnd];
    this.#atEnd.clear();
    for (const callback of callbacks) callback();
  }
}
