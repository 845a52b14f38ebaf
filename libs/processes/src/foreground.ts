/** Why: a program that people start in a terminal stops many others in order; Ctrl-C must reach it alone. */
import { spawn } from "node:child_process";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `program` with this Node in a process group of its own, hands on what asks us to stop, and resolves with its exit code. */
export function runApart(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  for (const signal of STOP_SIGNALS) process.on(signal, () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
