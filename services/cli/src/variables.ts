/**
 * Variables come from the shell and, as with the official command line, from `.env` in the working directory. The content of a cloned
 * repository must never decide where credentials are sent (cloud.md T34), so each value has its source.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { FAILED, fail } from "./errors.js";
import { CONFIG_BYTES_MAX } from "./limits.js";

export interface EnvironmentVariable {
  /** Name of the variable, for messages. */
  readonly name: string;
  readonly value: string;
  /** `shell`: set by the user who runs the command. `file`: from `.env`, whose author may be another one. */
  readonly source: "shell" | "file";
}

export class Variables {
  readonly #shell: NodeJS.ProcessEnv;
  readonly #file: NodeJS.Dict<string>;

  constructor(shell: NodeJS.ProcessEnv, file: NodeJS.Dict<string> = {}) {
    this.#shell = shell;
    this.#file = file;
  }

  /** The first of these names that is set; the shell has precedence over `.env`. Empty counts as not set. */
  find(...names: readonly string[]): EnvironmentVariable | undefined {
    return this.ofShell(...names) ?? firstSet(names, this.#file, "file");
  }

  /** The same from the shell only: for locations of settings and credentials. */
  ofShell(...names: readonly string[]): EnvironmentVariable | undefined {
    return firstSet(names, this.#shell, "shell");
  }
}

function firstSet(
  names: readonly string[],
  values: NodeJS.Dict<string>,
  source: "shell" | "file",
): EnvironmentVariable | undefined {
  for (const name of names) {
    const value = values[name];
    if (value !== undefined && value !== "") return { name, value, source };
  }
  return undefined;
}

/** Variables of the shell and of `.env` in this folder. */
export function readVariables(shell: NodeJS.ProcessEnv, folder: string): Variables {
  const path = join(folder, ".env");
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined || !facts.isFile()) return new Variables(shell);
  if (facts.size > CONFIG_BYTES_MAX) fail(FAILED, `${path} is too large to be a file of variables`);
  return new Variables(shell, parseEnv(readFileSync(path, "utf8")));
}
