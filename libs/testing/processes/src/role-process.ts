/**
 * A role is a process that writes to a log file of its own, so that it continues when its parent is gone and its log can be read
 * afterwards. It stays in the parent's process group: a signal to the group kills the whole cluster.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { LAST_LINES, LOG_BYTES_MAX, POLL_MS, READY_MS_MAX, STOP_MS_MAX } from "./limits.js";

export interface RoleProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Answers 200 when it is ready. */
  readonly readyUrl: string;
}

export class RoleProcess {
  readonly name: string;
  readonly #options: RoleProcessOptions;
  #child: ChildProcess;
  #exited: Promise<void>;
  #isRunning = true;

  /** Throws when it cannot be executed. */
  static async start(options: RoleProcessOptions): Promise<RoleProcess> {
    const child = launch(options);
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return new RoleProcess(options, child);
  }

  private constructor(options: RoleProcessOptions, child: ChildProcess) {
    this.name = options.name;
    this.#options = options;
    this.#child = child;
    this.#exited = this.#endOf(child);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Resolves when it answers; rejects with its last output when it ends before, or takes too long. */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_MS_MAX;
    while (!(await answersWell(this.#options.readyUrl))) {
      if (!this.#isRunning) throw new Error(`${this.name} ended:\n${this.#lastLines()}`);
      if (performance.now() > deadline) throw new Error(`${this.name} is not ready yet:\n${this.#lastLines()}`);
      await delay(POLL_MS);
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** SIGTERM, and SIGKILL when that has not helped. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const insist = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS_MAX);
    await this.#exited;
    clearTimeout(insist);
  }

  /** Restarts it with the same settings, after it has ended. */
  async startAgain(): Promise<void> {
    const child = launch(this.#options);
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    this.#child = child;
    this.#isRunning = true;
    this.#exited = this.#endOf(child);
  }

  #endOf(child: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      child.once("exit", () => {
        this.#isRunning = false;
        resolve();
      });
    });
  }

  #lastLines(): string {
    return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  }
}

function launch({ command, args, env, logFile }: RoleProcessOptions): ChildProcess {
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(logFile, `${logFile}.1`);
  const log = openSync(logFile, "a");
  try {
    return spawn(command, args, { env, stdio: ["ignore", log, log] });
  } finally {
    closeSync(log);
  }
}

async function answersWell(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false; // Not bound yet.
  }
}
