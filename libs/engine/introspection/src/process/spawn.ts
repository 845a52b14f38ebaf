/**
 * Starts a statement process with its system limits set before its program begins, and with only the environment variables that it needs.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { present } from "@perdure/base";
import { PROCESS_RESERVED_BYTES } from "../limits.js";

const MIB = 1024 * 1024;
const SHELL = "/bin/sh";
/** The shell sets the limits and then becomes the program. Core dumps are disabled: the memory contains users' data. */
const SCRIPT = 'ulimit -c 0 2>/dev/null; ulimit -d "$1" 2>/dev/null; shift; exec "$@"';

interface SpawnOptions {
  /** Module that calls `runSqlProcess`. */
  readonly entry: URL;
  readonly memoryBytesMax: number;
  readonly heapBytesMax: number;
  /** Names of environment variables that are passed on. */
  readonly environment: readonly string[];
}

/** Spawns a process of SQL statements. Its third stream beyond the standard ones carries messages (`frames.ts`). */
export function spawnSqlProcess({ entry, memoryBytesMax, heapBytesMax, environment }: SpawnOptions): ChildProcess {
  const node = [process.execPath, `--max-old-space-size=${Math.floor(heapBytesMax / MIB)}`, fileURLToPath(entry)];
  const dataKib = String(Math.ceil((memoryBytesMax + PROCESS_RESERVED_BYTES) / 1024));
  const hasLimits = process.platform === "linux" && existsSync(SHELL);
  const [program, ...args] = hasLimits ? [SHELL, "-c", SCRIPT, "sh", dataKib, ...node] : node;
  const passed = environment.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return spawn(present(program), args, {
    env: Object.fromEntries(passed),
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true, // A signal to the server's process group, e.g. Ctrl-C, must not reach it: the server ends the process itself.
    windowsHide: true,
  });
}

const RESIDENT = /^RssAnon:\s*(\d+) kB$/m;

/** Anonymous memory of the process in bytes; undefined when the process has ended or the system does not report it. */
export function memoryBytesOf(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const kib = RESIDENT.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined; // The process has ended, or /proc is hidden.
  }
}
