/** The service itself, when `perdure dev` starts it: its output with a prefix, its crashes reported, and restarted a few times. */
import { backoffMs } from "@perdure/base";
import type { Context } from "../../context.js";
import { pause } from "../manage/pause.js";
import { ChildProgram, exitText } from "./child.js";
import { RESTART_BOUNDS, RESTARTS_MAX } from "./limits.js";
import { startText } from "./project.js";

export interface AppEvents {
  line(text: string): void;
  /** `again`: in how many milliseconds it is started again; undefined when it is not. */
  ended(how: string, again: number | undefined): void;
}

export interface AppStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export class App {
  #child: ChildProgram | undefined;
  #isStopped = false;
  #restarts = 0;
  /** Counts starts on purpose: a restart after a crash that was still pending is left out then. */
  #generation = 0;
  readonly #context: Context;
  readonly #start: AppStart;
  readonly #events: AppEvents;

  constructor(context: Context, start: AppStart, events: AppEvents) {
    this.#context = context;
    this.#start = start;
    this.#events = events;
  }

  /** Resolves when it is started; rejects when its command cannot be. What happens later is reported as an event. */
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

  /** Stops it and starts it with the code of now, also when it had crashed too often. */
  async restart(): Promise<void> {
    const old = this.#child;
    this.#child = undefined; // Its end is no crash.
    this.#generation++;
    this.#restarts = 0;
    await old?.stop();
    await this.#startOrReport();
  }

  /** It serves: the count of restarts begins anew. */
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
