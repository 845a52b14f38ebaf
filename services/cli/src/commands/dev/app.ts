/**
 * The developer's service as a process of `perdure dev`: its output gets a prefix, crashes are reported, and it is restarted a few times.
 */
import { backoffMs } from "@perdure/base";
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { ChildProgram, exitText } from "./child.js";
import { RESTART_BOUNDS, RESTART_STOP_MS_MAX, RESTARTS_MAX } from "./limits.js";
import { startText } from "./project.js";

interface AppEvents {
  line(text: string): void;
  /** `again`: milliseconds until the restart; undefined when there is none. */
  ended(how: string, again: number | undefined): void;
}

interface AppStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export class App {
  #child: ChildProgram | undefined;
  #isStopped = false;
  #restarts = 0;
  /** Number of deliberate starts: a pending restart after an earlier crash is dropped. */
  #generation = 0;
  readonly #context: Context;
  readonly #start: AppStart;
  readonly #events: AppEvents;

  constructor(context: Context, start: AppStart, events: AppEvents) {
    this.#context = context;
    this.#start = start;
    this.#events = events;
  }

  /** Resolves when the process has started; rejects when its command cannot be started. Later failures are reported as events. */
  async start(): Promise<void> {
    const child = await ChildProgram.start({
      ...this.#start,
      clock: this.#context.clock,
      onLine: (line) => this.#events.line(line),
    });
    this.#child = child;
    void child.exited.then(async (exit) => {
      if (this.#isStopped || this.#context.signal.aborted || this.#child !== child) return;
      const again = exit.code === 0 || this.#restarts >= RESTARTS_MAX ? undefined : backoffMs(this.#restarts, RESTART_BOUNDS);
      this.#events.ended(`'${startText(this.#start)}' ended with ${exitText(exit)}`, again);
      if (again !== undefined) await this.#startAgain(again);
    });
  }

  /** Restarts the process with the present code, even after too many crashes. */
  async restart(): Promise<void> {
    const old = this.#child;
    this.#child = undefined; // This end is not a crash.
    this.#generation++;
    this.#restarts = 0;
    await old?.stop(RESTART_STOP_MS_MAX);
    await this.#startOrReport();
  }

  /** The service answers, so the count of restarts is reset. */
  served(): void {
    this.#restarts = 0;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#child?.stop();
  }

  async #startAgain(afterMs: number): Promise<void> {
    this.#restarts++;
    const generation = this.#generation;
    try {
      await pause(this.#context, afterMs);
    } catch (cause) {
      if (this.#context.signal.aborted) return;
      throw cause;
    }
    if (generation === this.#generation) await this.#startOrReport();
  }

  async #startOrReport(): Promise<void> {
    try {
      if (!this.#isStopped && !this.#context.signal.aborted) await this.start();
    } catch (cause) {
      if (this.#context.signal.aborted) return;
      this.#events.ended(`it cannot be started: ${cause instanceof Error ? cause.message : String(cause)}`, undefined);
    }
  }
}
