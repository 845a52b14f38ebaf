/** A command that runs to its end: what it prints, how it ends, and what is typed into it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

export interface CommandOptions {
  readonly cwd?: string;
  /** All of its environment variables; those of this process when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Input of the command; empty when absent. */
  readonly stdin?: string;
  /** Time after which the command is killed. */
  readonly timeoutMs?: number;
  /** Called with each piece of its output, which may end within a line. */
  readonly onOutput?: (text: string) => void;
  /** The command leads a process group of its own, and signals go to all of it: as a terminal sends them. */
  readonly ownGroup?: boolean;
}

export interface CommandResult {
  /** Null when a signal has ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command; resolves with any exit code. Rejects when it cannot be executed. */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new RunningCommand(command, args, options).ended;
}

export class RunningCommand {
  readonly ended: Promise<CommandResult>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ownGroup: boolean;
  readonly #output = { stdout: "", stderr: "" };
  readonly #listeners = new Set<() => void>();

  constructor(command: string, args: readonly string[], options: CommandOptions = {}) {
    const { cwd, env, stdin = "", timeoutMs, onOutput, ownGroup = false } = options;
    this.#ownGroup = ownGroup;
    this.#child = spawn(command, args, { cwd, env, timeout: timeoutMs, killSignal: "SIGKILL", detached: ownGroup });
    for (const name of ["stdout", "stderr"] as const) {
      this.#child[name].setEncoding("utf8").on("data", (text: string) => {
        this.#output[name] += text;
        onOutput?.(text);
        for (const listener of this.#listeners) listener();
      });
    }
    this.#child.stdin.on("error", () => undefined); // A command that does not read its input may have ended already.
    this.#child.stdin.end(stdin);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (exitCode, signal) => {
        resolve({ exitCode: signal === null ? exitCode : null, ...this.#output });
        for (const listener of this.#listeners) listener();
      });
    });
  }

  /** Undefined when it could not be executed. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get stdout(): string {
    return this.#output.stdout;
  }

  /** Both outputs so far. */
  get output(): string {
    return this.#output.stdout + this.#output.stderr;
  }

  /** The first match of the expression in one of the outputs, as soon as there is one. Rejects when the command ends before. */
  async until(expression: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const check = (): void => {
      const match = expression.exec(this.#output.stdout) ?? expression.exec(this.#output.stderr);
      if (match !== null) resolve(match);
      else if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        reject(new Error(`the command ended without ${expression}:\n${this.output}`));
      }
    };
    this.#listeners.add(check);
    check();
    try {
      return await promise;
    } finally {
      this.#listeners.delete(check);
    }
  }

  signal(name: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (!this.#ownGroup || pid === undefined) this.#child.kill(name);
    else if (exitCode === null && signalCode === null) process.kill(-pid, name);
  }
}
