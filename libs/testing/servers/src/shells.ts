/** Runs scripts that users run in their shells (completions) in the real shells, which alone can show whether they work. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { RULES_CHECK_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";

/**
 * Output of a script, run without any user's settings. Rejects with the error output of the shell, also when the shell cannot be fetched.
 */
export async function runShell(shell: "zsh" | "fish", script: string): Promise<string> {
  const installed = onPath(shell);
  const { path, env } = installed === undefined ? await fetched(shell) : { path: installed, env: {} };
  // An unpacked zsh searches for its modules where they would be installed.
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
