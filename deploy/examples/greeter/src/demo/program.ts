/**
 * Starts programs for the demo and leaves none behind. Each gets a process group of its own, so that Ctrl-C reaches the demo alone, which
 * then stops them in order; when the demo ends in any other way, they are killed at its exit.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const STOP_TIMEOUT_MS = 10_000;
const KEPT_LINES_MAX = 40;
const running = new Set<DemoProgram>();

process.on("exit", () => {
  for (const program of running) program.signal("SIGKILL");
});

export interface DemoProgramOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onLine?: (line: string) => void;
}

export class DemoProgram {
  readonly name: string;
  /** The last lines of its output, for error messages. */
  readonly lastLines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #isRunning = true;

  constructor(options: DemoProgramOptions) {
    this.name = options.name;
    this.#child = spawn(options.command, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    running.add(this);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        this.lastLines.push(line);
        if (this.lastLines.length > KEPT_LINES_MAX) this.lastLines.shift();
        options.onLine?.(line);
      });
    }
    // A program that could not even be started has no exit, only an error.
    this.#exited = once(this.#child, "exit")
      .catch((cause: Error) => void this.lastLines.push(cause.message))
      .then(() => {
        this.#isRunning = false;
        running.delete(this);
      });
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when it has ended, however that came. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    if (!this.#isRunning || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // It has just ended, which is the goal.
    }
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exited;
  }

  /** Stops it with SIGTERM, then with SIGKILL when it does not end. */
  async stop(): Promise<void> {
    this.signal("SIGTERM");
    const timeout = new AbortController();
    const insist = delay(STOP_TIMEOUT_MS, undefined, { signal: timeout.signal }).then(
      () => this.signal("SIGKILL"),
      () => undefined,
    );
    await this.#exited;
    timeout.abort();
    await insist;
  }

  /** Resolves when `check` does; rejects with the program's last lines when it ends before, or with `check`'s last failure. */
  async untilReady(check: () => Promise<void>, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      try {
        return await check();
      } catch (cause) {
        if (!this.#isRunning) throw new Error(`${this.name} stopped:\n${this.lastLines.join("\n")}`, { cause });
        if (performance.now() > deadline)
          throw new Error(`${this.name} did not come up in time:\n${this.lastLines.join("\n")}`, { cause });
      }
      await delay(25);
    }
  }
}
