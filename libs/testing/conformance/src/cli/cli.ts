/**
 * Runs the official CLI unmodified, as a process with a home directory and configuration of its own, so that the developer's configuration
 * is neither read nor changed.
 */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { CLI_MS, CLI_OUTPUT_BYTES_MAX } from "../limits.js";
import { temporaryDirectory } from "../server.js";

export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

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
  run(args: readonly string[], { stdin = "", env = {} }: CliOptions = {}): Promise<CliResult> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#binary, args, {
        cwd: this.home,
        timeout: CLI_MS,
        killSignal: "SIGKILL",
        env: {
          PATH: process.env["PATH"],
          HOME: this.home,
          RESTATE_CLI_CONFIG_HOME: join(this.home, "config"),
          ...(this.#target === undefined
            ? {}
            : { RESTATE_ADMIN_URL: this.#target.adminUrl, RESTATE_INGRESS_URL: this.#target.ingressUrl }),
          NO_COLOR: "1",
          DO_NOT_TRACK: "1",
          TZ: "UTC",
          ...env,
        },
      });
      const output = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (chunk: string) => {
          if (output[name].length < CLI_OUTPUT_BYTES_MAX) output[name] += chunk;
        });
      }
      child.once("error", reject);
      child.once("close", (exitCode, signal) => {
        if (signal === null) resolve({ exitCode, ...output });
        else reject(new Error(`restate ${args.join(" ")}: ended by ${signal}\n${output.stdout}\n${output.stderr}`));
      });
      // A command that does not read its input may end before the input is written.
      child.stdin.on("error", (cause: NodeJS.ErrnoException) => {
        if (cause.code !== "EPIPE") reject(cause);
      });
      child.stdin.end(stdin);
    });
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
