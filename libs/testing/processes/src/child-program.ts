/**
 * A child process of this one: its output is kept, it can be signalled, stopped, killed and started again, and it does not outlive this
 * process by accident. Tests, the local cluster and the demos start all programs with it. The file imports nothing of ours, so that Node
 * runs it as it is, without a bundle.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

/** Pause between two checks of a program that starts; short, because most are ready within 50 ms. */
const POLL_MS = 20;
/** A program that is not ready by then will not be: the slowest, Kafka, takes 5 s, and minutes on a machine with much else to do. */
const READY_MS_MAX = 180_000;
/** Time between SIGTERM and SIGKILL: roles drain for five seconds at most, servers write what they hold. */
const STOP_MS_MAX = 15_000;
/** Kept lines of the output and their length: enough to see why a program failed. */
const LINES_MAX = 2_000;
const LINE_CHARS_MAX = 4_000;
/** Lines of the output in an error. */
const LAST_LINES_MAX = 40;
/** A log file larger than this is renamed at the next start; the one renamed before is deleted. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

export interface ChildProgramOptions {
  /** Name in errors; the file name of the command when absent. */
  readonly name?: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** All of its environment variables; those of this process when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of its output. Not called when the output is written to a file. */
  readonly onLine?: (line: string) => void;
  /**
   * `own`, the default: the program leads a process group; Ctrl-C reaches only this process, and signals reach the program with its
   * children. `shared`: it belongs to the group of this process, and signals reach the program alone.
   */
  readonly group?: "own" | "shared";
  /**
   * Its output is appended to this file, which a reader finds afterwards, and the program continues when this process ends. When absent,
   * the output is read through a pipe, and the program is killed when this process ends.
   */
  readonly logFile?: string;
}

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StopOptions {
  /** The signal that requests the end; SIGTERM when absent. */
  readonly signal?: NodeJS.Signals;
  /** SIGKILL follows when the program still runs after that. */
  readonly withinMs?: number;
}

const running = new Set<ChildProgram>();

process.on("exit", () => {
  for (const program of running) if (!program.outlivesUs) program.signal("SIGKILL");
});

/** Process ids of all programs of this process that have not ended, for checks that none is left. */
export function runningPrograms(): ReadonlySet<number> {
  return new Set([...running].map(({ pid }) => pid));
}

export class ChildProgram {
  #options: ChildProgramOptions;
  #pid = 0;
  #exit: ProgramExit | undefined;
  #exited: Promise<ProgramExit> = Promise.resolve({ code: null, signal: null });
  #lines: string[] = [];
  /** Offset in the log file at which the output of the present process begins. */
  #logStart = 0;
  /** Wakes the one that waits for readiness. */
  #onChange: () => void = () => undefined;

  private constructor(options: ChildProgramOptions) {
    this.#options = options;
  }

  /** Resolves when the program executes, which says nothing about readiness. Rejects when it cannot be executed. */
  static async start(options: ChildProgramOptions): Promise<ChildProgram> {
    const program = new ChildProgram(options);
    await program.#launch();
    return program;
  }

  get name(): string {
    return this.#options.name ?? basename(this.#options.command);
  }

  get pid(): number {
    return this.#pid;
  }

  get outlivesUs(): boolean {
    return this.#options.logFile !== undefined;
  }

  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /** Undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#exit;
  }

  /** Resolves when the program has ended and all its output has been read. */
  get exited(): Promise<ProgramExit> {
    return this.#exited;
  }

  /** The last lines of its output, of the present process only, the oldest first. */
  get lines(): readonly string[] {
    const { logFile } = this.#options;
    if (logFile === undefined) return this.#lines;
    const text = readFileSync(logFile).subarray(this.#logStart).toString().trimEnd();
    return text === "" ? [] : text.split("\n").slice(-LINES_MAX);
  }

  /** Output for an error. */
  lastLines(): string {
    return this.lines.slice(-LAST_LINES_MAX).join("\n");
  }

  /**
   * Calls `check` until it returns a value other than undefined or false, and resolves with that value. Rejects with the last lines when
   * the program ends before or `withinMs` pass.
   */
  async ready<T>(check: () => Promise<T | undefined | false> | T | undefined | false, withinMs = READY_MS_MAX): Promise<T> {
    for (const deadline = performance.now() + withinMs; ; await this.#changed()) {
      if (!this.isRunning) throw new Error(`${this.name} ended before it was ready:\n${this.lastLines()}`);
      const result = await check();
      if (result !== undefined && result !== false) return result;
      if (performance.now() > deadline) throw new Error(`${this.name} was not ready in ${withinMs} ms:\n${this.lastLines()}`);
    }
  }

  /** Does nothing when the program has ended. */
  signal(name: NodeJS.Signals): void {
    if (!this.isRunning) return;
    try {
      process.kill(this.#options.group === "shared" ? this.#pid : -this.#pid, name);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // ESRCH: it has ended just before.
    }
  }

  /** SIGKILL, as in a crash: the program can save nothing. */
  kill(): Promise<ProgramExit> {
    this.signal("SIGKILL");
    return this.#exited;
  }

  async stop({ signal = "SIGTERM", withinMs = STOP_MS_MAX }: StopOptions = {}): Promise<ProgramExit> {
    this.signal(signal);
    this.signal("SIGCONT"); // A frozen program handles the signal when it continues.
    const insist = setTimeout(() => this.signal("SIGKILL"), withinMs);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(insist);
    }
  }

  /** Starts it again after it has ended; `changed` options replace those of the start before. */
  async startAgain(changed: Partial<ChildProgramOptions> = {}): Promise<void> {
    if (this.isRunning) throw new Error(`${this.name} is still running`);
    this.#options = { ...this.#options, ...changed };
    await this.#launch();
  }

  async #launch(): Promise<void> {
    const { command, args = [], cwd, env, group, logFile } = this.#options;
    const log = logFile === undefined ? undefined : this.#openLog(logFile);
    let child: ChildProcess;
    try {
      const output = log ?? "pipe";
      child = spawn(command, args, { cwd, env, stdio: ["ignore", output, output], detached: group !== "shared" });
      await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    } finally {
      if (log !== undefined) closeSync(log);
    }
    this.#pid = child.pid as number;
    this.#exit = undefined;
    this.#lines = [];
    running.add(this);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on("line", (line) => this.#keep(line));
    }
    this.#exited = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#exit = { code, signal };
        running.delete(this);
        this.#onChange();
        resolve(this.#exit);
      });
    });
  }

  #openLog(path: string): number {
    const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const isLarge = size > LOG_BYTES_MAX;
    if (isLarge) renameSync(path, `${path}.1`);
    this.#logStart = isLarge ? 0 : size;
    return openSync(path, "a");
  }

  #keep(line: string): void {
    this.#lines.push(line.slice(0, LINE_CHARS_MAX));
    if (this.#lines.length > LINES_MAX) this.#lines.splice(0, LINES_MAX / 2);
    this.#options.onLine?.(line);
    this.#onChange();
  }

  /** Resolves with the next line of its output, at its end, or after a moment. */
  async #changed(): Promise<void> {
    const line = new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
    await Promise.race([line, delay(POLL_MS)]);
  }
}
