/** Alert rules and dashboards are programs in PromQL; Prometheus' own tool checks them and evaluates them on series. */
import { execFile } from "node:child_process";
import { RULES_CHECK_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";

export interface PromtoolResult {
  readonly isGood: boolean;
  /** Output, both streams together. */
  readonly output: string;
}

/** Runs `promtool` with the arguments. Rejects when there is none and it cannot be fetched. */
export async function runPromtool(args: readonly string[]): Promise<PromtoolResult> {
  const { path, env } = await program();
  const options = { env: { ...process.env, ...env }, timeout: RULES_CHECK_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
  return new Promise((resolve) => {
    execFile(path, [...args], options, (error, stdout, stderr) => resolve({ isGood: error === null, output: stdout + stderr }));
  });
}

async function program(): Promise<InstalledProgram> {
  const path = onPath("promtool");
  return path === undefined ? fromPackages("prometheus", ["prometheus"], "usr/bin/promtool") : { path, env: {} };
}
