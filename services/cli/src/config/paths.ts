/** Folders of files. Only variables of the shell can move them: a `.env` that does could bring its own profiles (cloud.md T34). */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Variables } from "../variables.js";

/** The folder of our own files: `credentials.json`. */
export function ownFolder(variables: Variables): string {
  const given = variables.ofShell("PERDURE_CONFIG_HOME", "PERDURE_CLI_CONFIG_HOME")?.value;
  return given ?? join(homeOf(variables), ".config", "perdure");
}

/** Files of the official command line, which we share with it (cloud.md §1.1). */
export interface OfficialPaths {
  readonly folder: string;
  readonly config: string;
  /** Contains the name of the profile in use. */
  readonly environment: string;
}

/** `remembered`: the folder chosen at login when the usual one belongs to another provider; the variable of the shell has precedence. */
export function officialPaths(variables: Variables, remembered: string | undefined): OfficialPaths {
  const folder =
    variables.ofShell("RESTATE_CLI_CONFIG_HOME")?.value ?? remembered ?? join(homeOf(variables), ".config", "restate");
  const config = variables.ofShell("RESTATE_CLI_CONFIG", "PERDURE_CLI_CONFIG")?.value ?? join(folder, "config.toml");
  return { folder, config, environment: join(folder, "environment") };
}

export function homeOf(variables: Variables): string {
  return variables.ofShell("HOME")?.value ?? homedir();
}
