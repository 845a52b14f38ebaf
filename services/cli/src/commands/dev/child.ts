/**
 * Child processes of `perdure dev`. They must end with this process, together with their own children, and their output must be
 * distinguishable. Each has a process group of its own: Ctrl-C reaches only this process, which stops the children in order.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Clock } from "@perdure/base";
import { causeCode } from "@perdure/base";
import { LAST_LINES, LINE_CHARS_MAX, STOP_MS_MAX } from "./limits.js";

interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface ChildProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly clock: Clock;
  readonly onLine: (line: string) => void;
}

/** Children that run: none of them may outlive this process. */
const running = new Set<ChildProgram>();
let isGuarded = false;

export class ChildProgram {
  /** Resolves when the process has ended and its output is read. */
  readonly exited: Promise<ProgramExit>;
  readonly #process: ChildProcess;
  readonly #clock: Clock;
  readonly #lines: string[] = [];
  #exit: ProgramExit | undefined;

  private constructor(process: ChildProcess, { clock, onLine }: ChildProgramOptions) {
    this.#process = process;
    this.#clock = clock;
    for (const stream of [process.stdout, process.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        const kept = line.slice(0, LINE_CHARS_MAX);
        this.#lines.push(kept);
        if (this.#lines.length > LAST_LINES) this.#lines.shift();
        onLine(kept);
      });
    }
    this.exited = new Promise((resolve) => {
      process.once("close", (code, signal) => {
        this.#exit = { code, signal };
        running.delete(this);
        resolve(this.#exit);
      });
    });
    running.add(this);
  }

  /** Rejects when the command cannot be started. */
  static async start(options: ChildProgramOptions): Promise<ChildProgram> {
    guard();
    const child = spawn(options.command, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return new ChildProgram(child, options);
  }

  /** Undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#exit;
  }

  get lastLines(): string {
    return this.#lines.join("\n");
  }

  /** Sends SIGTERM to the process group, and after a timeout SIGKILL. */
  async stop(timeoutMs = STOP_MS_MAX): Promise<void> {
    if (this.#exit !== undefined) return;
    this.signal("SIGTERM");
    const insist = this.#clock.setTimer(timeoutMs, () => this.signal("SIGKILL"));
    await this.exited;
    insist.cancel();
  }

  signal(name: NodeJS.Signals): void {
    if (this.#process.pid === undefined) return;
    try {
      process.kill(-this.#process.pid, name);
    } catch (cause) {
      if (causeCode(cause) !== "ESRCH") throw cause; // The group ended in this moment.
    }
  }
}

/** However this process ends, no child stays behind. */
function guard(): void {
  if (isGuarded) return;
  isGuarded = true;
  const killAll = (): void => {
    for (const child of running) child.signal("SIGKILL");
  };
  process.once("exit", killAll);
}

/** `exit code 1`, `SIGKILL`. */
export function exitText({ code, signal }: ProgramExit): string {
  return signal ?? `exit code ${code}`;
}
