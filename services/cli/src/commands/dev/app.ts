/** Why: the service itself, when we start it: its output with a prefix, its crashes told, and started again a few times. */
import { backoffMs } from "@perdure/base";
import type { Context } from "../../context.js";
import { pause } from "../manage/pause.js";
import { Child, exitText } from "./child.js";
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
  #child: Child | undefined;
  #isStopped = false;
  #restarts = 0;
  readonly #context: Context;
  readonly #start: AppStart;
  readonly #events: AppEvents;

  constructor(context: Context, start: AppStart, events: AppEvents) {
    this.#context = context;
    this.#start = start;
    this.#events = events;
  }

  /** Resolves when it is started; rejects when its command cannot be. What happens later is told. */
  async start(): Promise<void> {
    const child = await Child.start({ ...this.#start, clock: this.#context.clock, onLine: (line) => this.#events.line(line) });
    this.#child = child;
    void child.exited.then(async (exit) => {
      if (this.#isStopped || this.#context.signal.aborted) return;
      const again = exit.code === 0 || this.#restarts >= RESTARTS_MAX ? undefined : backoffMs(this.#restarts, RESTART_BOUNDS);
      this.#events.ended(`'${startText(this.#start)}' ended with ${exitText(exit)}`, again);
      if (again !== undefined) await this.#startAgain(again);
    });
  }

  /** It serves: what happens from now on is a new story. */
  served(): void {
    this.#restarts = 0;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#child?.stop();
  }

  async #startAgain(afterMs: number): Promise<void> {
    this.#restarts++;
    try {
      await pause(this.#context, afterMs);
      if (!this.#isStopped) await this.start();
    } catch (cause) {
      if (this.#context.signal.aborted) return;
      this.#events.ended(`it cannot be started: ${cause instanceof Error ? cause.message : String(cause)}`, undefined);
    }
  }
}
