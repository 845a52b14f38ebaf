/** Child processes of the suites: started, stopped, killed and counted. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { KEPT_LINE_CHARS_MAX, KEPT_LINES_MAX } from "./limits.js";

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Process ids of children whose end was not observed yet; the leak check reads it. */
export const livingChildren = new Set<number>();

process.on("exit", () => {
  for (const pid of livingChildren) killGroup(pid, "SIGKILL");
});

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // The process ended just before.
  }
}

/** A program in a process group of its own, with the last lines of its output. */
export class ChildProgram {
  readonly pid: number;
  readonly lines: string[] = [];
  /** Resolves when the program has ended and all its output has been read. */
  readonly exited: Promise<ProgramExit>;
  #exit: ProgramExit | undefined;

  private constructor(process: ChildProcess, pid: number, onLine: (line: string) => void) {
    this.pid = pid;
    livingChildren.add(pid);
    for (const stream of [process.stdout, process.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        this.lines.push(line.slice(0, KEPT_LINE_CHARS_MAX));
        if (this.lines.length > KEPT_LINES_MAX) this.lines.shift();
        onLine(line);
      });
    }
    this.exited = new Promise((resolve) => {
      process.once("close", (code, signal) => {
        this.#exit = { code, signal };
        livingChildren.delete(pid);
        resolve(this.#exit);
      });
    });
  }

  static start(
    command: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    onLine: (line: string) => void = () => {},
  ): ChildProgram {
    const started = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    if (started.pid === undefined) throw new Error(`${command} cannot be started`);
    return new ChildProgram(started, started.pid, onLine);
  }

  /** Undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#exit;
  }

  signal(name: NodeJS.Signals): void {
    if (this.#exit === undefined) killGroup(this.pid, name);
  }

  async kill(): Promise<ProgramExit> {
    this.signal("SIGKILL");
    return this.exited;
  }

  /** Sends SIGTERM, and SIGKILL when the program still runs after `withinMs`. */
  async stop(withinMs: number): Promise<ProgramExit> {
    this.signal("SIGTERM");
    const insist = setTimeout(() => this.signal("SIGKILL"), withinMs);
    const exit = await this.exited;
    clearTimeout(insist);
    return exit;
  }

  lastLines(): string {
    return this.lines.slice(-40).join("\n");
  }
}
