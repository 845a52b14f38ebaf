/** Runs a program that stops many others in order in the foreground of a terminal; Ctrl-C must reach only that program. */
import { spawn } from "node:child_process";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `program` with this Node in a process group of its own, forwards signals that stop us, and resolves with its exit code. */
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
