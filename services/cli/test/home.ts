/** A user at a terminal: a home folder, our command line in it as a process, and the official one beside it. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "@perdure/base";
import { programBundle } from "@perdure/dev-cluster";
import { type CommandResult, RunningCommand } from "@perdure/processes";
import { fetchWithTimeout } from "../src/fetch-with-timeout.js";
import { REQUEST_MS_MAX } from "../src/limits.js";
import { readVariables } from "../src/variables.js";

const TIMEOUT_MS = 90_000;

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Below the home; `.` is the home itself. */
  readonly folder?: string;
  /** Time after which the command is killed; TIMEOUT_MS when undefined. */
  readonly timeoutMs?: number;
}

export interface HomeOptions {
  /**
   * Commands without `stdin` and `folder` run in this process, which saves 0.2 s of processor time for each; all others, and those that `start` begins,
   * are processes. For suites that prove what commands do; the others prove how a process handles signals, input and a terminal.
   */
  readonly runsInProcess?: boolean;
}

/** Runs a program on a terminal of its own and types; only a terminal gets prompts. */
const TERMINAL = `
import fcntl, json, os, pty, select, struct, sys, termios
answers = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
shown = ""
while True:
    # A person types when the screen has come to rest: keys that come before a program listens are lost.
    is_asked = len(answers) > 0 and answers[0][0] in shown
    ready, _, _ = select.select([fd], [], [], 0.3 if is_asked else 30)
    if not ready and is_asked:
        os.write(fd, answers.pop(0)[1].encode())
        continue
    if not ready: sys.exit("silent: " + shown)
    try: piece = os.read(fd, 4096)
    except OSError: break
    if not piece: break
    shown += piece.decode(errors="replace")
sys.stdout.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

export class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "perdure-home-"));
  readonly #env: Readonly<Record<string, string>>;
  readonly #bundle: string;
  readonly #runsInProcess: boolean;

  private constructor(bundle: string, env: Readonly<Record<string, string>>, runsInProcess: boolean) {
    this.#bundle = bundle;
    this.#env = env;
    this.#runsInProcess = runsInProcess;
  }

  /** `env`: variables of every command in it. PERDURE_CLI_BUNDLE names another build than that of this tree. */
  static async make(env: Readonly<Record<string, string>>, { runsInProcess = false }: HomeOptions = {}): Promise<Home> {
    const other = process.env["PERDURE_CLI_BUNDLE"];
    return new Home(other ?? (await programBundle("services/cli")), env, runsInProcess && other === undefined);
  }

  /** A copy with the same login and profiles. */
  copy(env: Readonly<Record<string, string>> = {}): Home {
    const home = new Home(this.#bundle, { ...this.#env, ...env }, this.#runsInProcess);
    cpSync(this.path, home.path, { recursive: true });
    return home;
  }

  /** Runs `perdure` to its end; resolves with any exit code. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const needsProcess = options.stdin !== undefined || options.folder !== undefined;
    if (this.#runsInProcess && !needsProcess) return await this.#runHere(args, options.env);
    return await this.start(args, options).ended;
  }

  /** As `runCli` does, with ports of this process. */
  async #runHere(args: readonly string[], env: RunOptions["env"]): Promise<CommandResult> {
    const { runCommand } = await import("../src/run.js"); // Only here: loading all commands takes a second.
    const written = { stdout: "", stderr: "" };
    const exitCode = await runCommand(args, {
      variables: readVariables({ ...this.env, ...env }, this.path),
      clock: systemClock,
      stdin: process.stdin,
      stdout: { write: (text) => (written.stdout += text) },
      stderr: { write: (text) => (written.stderr += text) },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      fetch: fetchWithTimeout(fetch, systemClock, REQUEST_MS_MAX),
    });
    return { exitCode, ...written };
  }

  /** The JSON output of a command that succeeds. */
  async json<T = Record<string, unknown>>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const { exitCode, stdout, stderr } = await this.run([...args, "--json"], options);
    if (exitCode !== 0) throw new Error(`perdure ${args.join(" ")}: ${exitCode}\n${stdout}${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Runs the program at a terminal: answers each prompt, when its text has been shown, with these keys. */
  async atTerminal(
    args: readonly string[],
    answers: readonly (readonly [question: string, keys: string])[],
  ): Promise<CommandResult> {
    const command = [process.execPath, this.#bundle, ...args];
    return this.#start("python3", ["-c", TERMINAL, JSON.stringify(answers), ...command], {}).ended;
  }

  start(args: readonly string[], options: RunOptions = {}): RunningCommand {
    return this.#start(process.execPath, [this.#bundle, ...args], options);
  }

  /** The official command line, unmodified. */
  async restate(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const cli = createRequire(createRequire(import.meta.url).resolve("@restatedev/restate/package.json"));
    const binary = cli.resolve(`@restatedev/restate-${process.platform}-${process.arch}/bin/restate`);
    return this.#start(binary, args, options).ended;
  }

  /** A folder with `perdure` in it, for shells. */
  bin(): string {
    const folder = join(this.path, "bin");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "perdure"), `#!/bin/sh\nexec '${process.execPath}' '${this.#bundle}' "$@"\n`, { mode: 0o755 });
    return folder;
  }

  get env(): NodeJS.ProcessEnv {
    return { PATH: process.env["PATH"], HOME: this.path, NO_COLOR: "1", DO_NOT_TRACK: "1", ...this.#env };
  }

  #start(
    program: string,
    args: readonly string[],
    { env, folder, stdin = "", timeoutMs = TIMEOUT_MS }: RunOptions,
  ): RunningCommand {
    const cwd = folder === undefined ? this.path : join(this.path, folder);
    return new RunningCommand(program, args, { cwd, stdin, timeoutMs, env: { ...this.env, ...env } });
  }

  get config(): string {
    return join(this.path, ".config/restate/config.toml");
  }

  get credentials(): string {
    return join(this.path, ".config/perdure/credentials.json");
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  write(path: string, text: string): void {
    const whole = join(this.path, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, text);
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Permissions of a file: 0o600 … */
export function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
