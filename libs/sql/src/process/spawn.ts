/** Why: a process of statements gets its limits from the system before its program begins, and nothing of the server's environment that it does not need. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PROCESS_RESERVED_BYTES } from "../limits.js";

const MIB = 1024 * 1024;
const SHELL = "/bin/sh";
/** The shell sets limits and then becomes the program. No image of its memory is left behind: there is users' data in it. */
const SCRIPT = 'ulimit -c 0 2>/dev/null; ulimit -d "$1" 2>/dev/null; shift; exec "$@"';

export interface SpawnOptions {
  /** Module that calls `runSqlProcess`. */
  readonly entry: URL;
  readonly memoryBytesMax: number;
  readonly heapBytesMax: number;
  /** Names of environment variables that are passed on. */
  readonly environment: readonly string[];
}

/** Its third stream beyond the standard ones carries messages (`frames.ts`). */
export function spawnSqlProcess({ entry, memoryBytesMax, heapBytesMax, environment }: SpawnOptions): ChildProcess {
  const node = [process.execPath, `--max-old-space-size=${Math.floor(heapBytesMax / MIB)}`, fileURLToPath(entry)];
  const dataKib = String(Math.ceil((memoryBytesMax + PROCESS_RESERVED_BYTES) / 1024));
  const hasLimits = process.platform === "linux" && existsSync(SHELL);
  const [program, ...args] = hasLimits ? [SHELL, "-c", SCRIPT, "sh", dataKib, ...node] : node;
  const passed = environment.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return spawn(program as string, args, {
    env: Object.fromEntries(passed),
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true, // A signal to the group of the server, Ctrl-C say, is not for it: the server ends it when it is done with it.
    windowsHide: true,
  });
}

const RESIDENT = /^RssAnon:\s*(\d+) kB$/m;

/** Anonymous memory that the process holds; undefined when it has ended or the system does not say. */
export function memoryBytesOf(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const kib = RESIDENT.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined; // It has ended, or /proc is hidden.
  }
}
