/**
 * Runs the official CLI unmodified, as a process with a home directory and configuration of its own, so that the developer's configuration
 * is neither read nor changed.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type CommandResult, runCommand } from "@perdure/processes";
import { CLI_MS } from "../limits.js";
import { temporaryDirectory } from "../server.js";

export interface CliOptions {
  readonly stdin?: string;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface CliTarget {
  readonly adminUrl: string;
  readonly ingressUrl: string;
}

export class Cli implements AsyncDisposable {
  readonly home: string;
  readonly #target: CliTarget | undefined;
  readonly #binary = binaryOfThisPlatform();

  /** Without a target the CLI uses the address of its configuration file. */
  constructor(target?: CliTarget) {
    this.#target = target;
    this.home = temporaryDirectory();
    mkdirSync(join(this.home, "config"));
  }

  /** Runs one command to its end; resolves with any exit code. Rejects on timeout. */
  async run(args: readonly string[], { stdin = "", env = {} }: CliOptions = {}): Promise<CommandResult> {
    const { adminUrl, ingressUrl } = this.#target ?? {};
    const result = await runCommand(this.#binary, args, {
      cwd: this.home,
      stdin,
      timeoutMs: CLI_MS,
      env: {
        PATH: process.env["PATH"],
        HOME: this.home,
        RESTATE_CLI_CONFIG_HOME: join(this.home, "config"),
        ...(adminUrl === undefined ? {} : { RESTATE_ADMIN_URL: adminUrl, RESTATE_INGRESS_URL: ingressUrl }),
        NO_COLOR: "1",
        DO_NOT_TRACK: "1",
        TZ: "UTC",
        ...env,
      },
    });
    if (result.exitCode !== null) return result;
    throw new Error(`restate ${args.join(" ")}: ended by a signal\n${result.stdout}\n${result.stderr}`);
  }

  /** Writes an executable script into the home directory, e.g. as `EDITOR`; returns its path. */
  script(name: string, body: string): string {
    const path = join(this.home, name);
    writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** The binary is an optional package per platform, in addition to the package that the tests name. */
function binaryOfThisPlatform(): string {
  const near = createRequire(import.meta.url);
  const cli = createRequire(near.resolve("@restatedev/restate/package.json"));
  return cli.resolve(`@restatedev/restate-${process.platform}-${process.arch}/bin/restate`);
}
