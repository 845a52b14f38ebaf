/** Scripts that cannot be run in tests are at least checked by a tool that detects common errors in shell. */
import { execFile } from "node:child_process";
import { RULES_CHECK_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";
import { fromPackages, onPath } from "./programs.js";

/** ShellCheck's output for the scripts; empty when it has no findings. Rejects when it is not installed and cannot be fetched. */
export async function runShellcheck(files: readonly string[]): Promise<string> {
  const installed = onPath("shellcheck");
  const { path, env } =
    installed === undefined
      ? await fromPackages("shellcheck", ["shellcheck"], "usr/bin/shellcheck")
      : { path: installed, env: {} };
  const options = { env: { ...process.env, ...env }, timeout: RULES_CHECK_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
  return new Promise((resolve, reject) => {
    execFile(path, ["--format=gcc", ...files], options, (error, stdout, stderr) => {
      // 1: there are findings. Anything else: it could not read the scripts.
      if (error !== null && error.code !== 1) reject(new Error(`shellcheck: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}
