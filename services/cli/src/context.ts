/** The context of every command: the selected environment, the output, and access to clock, files and network. */
import type { Clock } from "@perdure/base";
import { VERSION } from "@perdure/telemetry/version";
import type { Command } from "commander";
import { LoginSession } from "./cloud/session.js";
import { CredentialsStore, OfficialConfig, officialPaths, ownFolder } from "./config/index.js";
import { type SelectedEnvironment, selectEnvironment } from "./environment.js";
import { type ExitCode, fail } from "./errors.js";
import { Output, type OutputStream } from "./output/index.js";
import { Prompts } from "./prompts.js";
import type { Variables } from "./variables.js";

export const USER_AGENT = `perdure-cli/${VERSION} ${process.platform}-${process.arch}`;

/** Resources from the process. */
export interface ContextPorts {
  readonly variables: Variables;
  readonly clock: Clock;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly fetch: typeof fetch;
}

/** Flags that every command has; they may stand before or behind it. */
export interface GlobalFlags {
  readonly env?: string;
  readonly account?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly color?: boolean;
}

export class Context {
  readonly variables: Variables;
  readonly clock: Clock;
  /** Aborted by Ctrl-C and SIGTERM: pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly fetch: typeof fetch;
  /** Tokens of logins; most commands use `environment().credential` instead. */
  readonly store: CredentialsStore;
  readonly session: LoginSession;
  readonly #ports: ContextPorts;
  readonly #flags: () => GlobalFlags;
  #output: Output | undefined;
  #environment: SelectedEnvironment | undefined;

  /** `flags` is a function, because flags are parsed only when a command runs. */
  constructor(ports: ContextPorts, flags: () => GlobalFlags) {
    this.#ports = ports;
    this.#flags = flags;
    this.variables = ports.variables;
    this.clock = ports.clock;
    this.signal = ports.signal;
    this.fetch = ports.fetch;
    this.store = new CredentialsStore(ownFolder(ports.variables), ports.clock);
    this.session = new LoginSession({
      store: this.store,
      official: () => this.official,
      variables: ports.variables,
      clock: ports.clock,
      userAgent: USER_AGENT,
      fetch: ports.fetch,
    });
  }

  /** `--json`: stdout holds JSON and nothing else. */
  get json(): boolean {
    return this.#flags().json === true;
  }

  /** `--yes`: skip confirmations. */
  get yes(): boolean {
    return this.#flags().yes === true;
  }

  get output(): Output {
    const { stdout, stderr, clock } = this.#ports;
    this.#output ??= new Output({ stdout, stderr, clock, isJson: this.json, hasColour: this.#hasColour() });
    return this.#output;
  }

  /** Prompts for the user; without a terminal they end the command with the flag that answers them. */
  get prompts(): Prompts {
    const { stdin, stderr } = this.#ports;
    return new Prompts({ isInteractive: stdin.isTTY === true && stderr.isTTY === true && !this.json, signal: this.signal });
  }

  /** The official command line's files. */
  get official(): OfficialConfig {
    return new OfficialConfig(officialPaths(this.variables, this.store.read().officialFolder), this.clock);
  }

  /** The value of `--env`, for commands that create profiles. */
  get requestedEnvironment(): string | undefined {
    return this.#flags().env;
  }

  /** The value of `--account`, or of its variable. */
  get requestedAccount(): string | undefined {
    return this.#flags().account ?? this.variables.find("PERDURE_ACCOUNT")?.value;
  }

  /** The selected environment. Ends the command when there is no such profile. */
  environment(): SelectedEnvironment {
    this.#environment ??= selectEnvironment(this.#flags().env, {
      variables: this.variables,
      official: this.official,
      session: this.session,
      store: this.store,
      warn: (line) => this.output.warn(line),
    });
    return this.#environment;
  }

  /** Ends the command: 1 = it failed, 2 = wrong usage. `advice`: what to do next. */
  fail(exitCode: ExitCode, message: string, advice?: string, cause?: unknown): never {
    return fail(exitCode, message, advice, cause);
  }

  #hasColour(): boolean {
    if (this.#flags().color === false || this.variables.ofShell("NO_COLOR") !== undefined) return false;
    if (this.variables.ofShell("FORCE_COLOR") !== undefined) return true;
    return this.#ports.stdout.isTTY === true && this.variables.ofShell("TERM")?.value !== "dumb";
  }
}

/** Adds a group of commands to the program. */
export type RegisterCommands = (program: Command, context: Context) => void;
