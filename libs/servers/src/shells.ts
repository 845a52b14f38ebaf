/** Why: what we give people's shells to run is written in their languages, and only they say whether it works. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { RULES_CHECK_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";

/** What a script prints, run without anybody's settings. Rejects with what the shell complains of, also when it cannot be fetched. */
export async function runShell(shell: "zsh" | "fish", script: string): Promise<string> {
  const installed = onPath(shell);
  const { path, env } = installed === undefined ? await fetched(shell) : { path: installed, env: {} };
  // An unpacked zsh looks for its modules where they would be installed.
  const modules = `module_path=(${dirname(dirname(path))}/**/zsh/<->*(N/) $module_path)\n`;
  const args =
    shell === "zsh" ? ["-f", "-c", installed === undefined ? modules + script : script] : ["--no-config", "-c", script];
  const options = { env: { ...process.env, ...env }, timeout: RULES_CHECK_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
  return new Promise((resolve, reject) => {
    execFile(path, args, options, (error, stdout, stderr) => {
      if (error === null && stderr === "") resolve(stdout);
      else reject(new Error(`${shell}: ${stderr}`, { cause: error }));
    });
  });
}

/** Debian has moved shells from `bin` to `usr/bin`. */
async function fetched(shell: string): Promise<InstalledProgram> {
  const program = await fromPackages(shell, [shell], `bin/${shell}`);
  return existsSync(program.path) ? program : await fromPackages(shell, [shell], `usr/bin/${shell}`);
}
