/** The official command line, unmodified, with its own home directory. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "@perdure/processes";

const TIMEOUT_MS = 60_000;

interface CommandOutput {
  readonly exitCode: number | null;
  /** Stdout and stderr. */
  readonly said: string;
}

export class CommandLine implements Disposable {
  readonly #home = mkdtempSync(join(tmpdir(), "perdure-cli-"));
  readonly #place: Readonly<Record<string, string>>;

  /** `place`: variables that locate the environment. */
  constructor(place: Readonly<Record<string, string>>) {
    this.#place = place;
  }

  /** Resolves with any exit code. */
  async run(args: readonly string[], token: string | undefined): Promise<CommandOutput> {
    const { exitCode, stdout, stderr } = await runCommand(binary(), args, {
      cwd: this.#home,
      timeoutMs: TIMEOUT_MS,
      env: {
        PATH: process.env["PATH"],
        HOME: this.#home,
        ...this.#place,
        NO_COLOR: "1",
        DO_NOT_TRACK: "1",
        ...(token === undefined ? {} : { RESTATE_AUTH_TOKEN: token }),
      },
    });
    return { exitCode, said: stdout + stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Returns the path of the program, which is an optional package per platform beside the package that the root names. */
function binary(): string {
  const cli = createRequire(createRequire(import.meta.url).resolve("@restatedev/restate/package.json"));
  return cli.resolve(`@restatedev/restate-${process.platform}-${process.arch}/bin/restate`);
}
