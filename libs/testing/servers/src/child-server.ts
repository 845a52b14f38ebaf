/**
 * A server for tests is a child process: started with its log captured, stopped by its own process id and no other, killed and frozen on
 * purpose, and never left behind when this process ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { LOG_LINE_CHARS_MAX, LOG_LINES_MAX, READY_MS_MAX, READY_POLL_MS, STOP_MS_MAX } from "./limits.js";

const living = new Set<number>();
process.on("exit", () => {
  for (const pid of living) signalTo(pid, "SIGKILL");
});

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // ESRCH: it has ended meanwhile.
  }
}

export interface ServerLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether `env` is its whole environment; by default it is added to the environment of this process. */
  readonly isEnvComplete?: boolean;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class ChildServer {
  readonly pid: number;
  /** Resolves when the program has ended and its log is complete. */
  readonly exited: Promise<ChildExit>;
  readonly #lines: string[] = [];
  #running = true;

  private constructor(child: ChildProcess, pid: number) {
    this.pid = pid;
    living.add(pid);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        this.#lines.push(line.slice(0, LOG_LINE_CHARS_MAX));
        if (this.#lines.length > LOG_LINES_MAX) this.#lines.splice(0, LOG_LINES_MAX / 2);
      });
    }
    this.exited = new Promise((resolve) => {
      child.once("close", (code: number | null, signal: NodeJS.Signals | null) => {
        this.#running = false;
        living.delete(pid);
        resolve({ code, signal });
      });
    });
  }

  /** Throws when the program cannot be executed. */
  static async launch({ command, args, cwd, env, isEnvComplete = false }: ServerLaunch): Promise<ChildServer> {
    const environment = isEnvComplete ? env : { ...process.env, ...env };
    const child = spawn(command, args, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return new ChildServer(child, child.pid as number);
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** The last output, oldest line first. */
  log(): string {
    return this.#lines.join("\n");
  }

  /** Resolves when `isReady` returns true; rejects with the log when the program ends or takes too long. */
  async ready(isReady: () => Promise<boolean>): Promise<void> {
    for (const deadline = performance.now() + READY_MS_MAX; ; await sleep(READY_POLL_MS)) {
      if (!this.#running) throw new Error(`the server ended before it was ready:\n${this.log()}`);
      if (await isReady()) return;
      if (performance.now() > deadline) throw new Error(`the server was not ready in ${READY_MS_MAX} ms:\n${this.log()}`);
    }
  }

  signal(name: NodeJS.Signals): void {
    if (this.#running) signalTo(this.pid, name);
  }

  /** SIGKILL, as in a crash of this program alone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }

  /** Sends the signal `name` to end it, and SIGKILL after a while. */
  async stop(name: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.signal("SIGCONT"); // A frozen program does not handle signals.
    this.signal(name);
    const insist = setTimeout(() => this.signal("SIGKILL"), STOP_MS_MAX);
    await this.exited;
    clearTimeout(insist);
  }
}
