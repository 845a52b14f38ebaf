/**
 * Reads the consumption of this machine's processes from /proc. Node also loads this file directly, so it imports nothing of the project.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../../../..");

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
const BLOCK_BYTES = 512;

interface ProcessTimes {
  readonly parent: number;
  readonly own: number;
  /** Processor time of children that have ended and were waited for. */
  readonly endedChildren: number;
}

/** Undefined when the process has ended. */
function timesOf(pid: number): ProcessTimes | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number);
    const at = (index: number): number => (fields[index] ?? 0) / TICKS_PER_SECOND;
    return { parent: fields[1] ?? 0, own: at(11) + at(12), endedChildren: at(13) + at(14) };
  } catch (cause) {
    if (["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw cause;
  }
}

/** A process and its descendants, with their times. */
function treeOf(root: number): ReadonlyMap<number, ProcessTimes> {
  const all = new Map<number, ProcessTimes>();
  for (const name of readdirSync("/proc")) {
    const times = /^\d+$/.test(name) ? timesOf(Number(name)) : undefined;
    if (times !== undefined) all.set(Number(name), times);
  }
  const isInTree = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at !== 0; at = all.get(at)?.parent) if (at === root) return true;
    return false;
  };
  return new Map([...all].filter(([pid]) => isInTree(pid)));
}

/** CPU seconds (user and system, all threads) of a process and its descendants so far. */
export function cpuSeconds(pid: number): number {
  return treeOf(pid)
    .values()
    .reduce((sum, { own, endedChildren }) => sum + own + endedChildren, 0);
}

/** CPU seconds of the programs that this process started and that have ended, the load generator among them. */
export function endedChildrenCpuSeconds(): number {
  return timesOf(process.pid)?.endedChildren ?? 0;
}

/** Resident memory of a process and its descendants. */
export function residentMiB(pid: number): number {
  let sum = 0;
  for (const each of treeOf(pid).keys()) {
    const status = readFileSync(`/proc/${each}/status`, "utf8");
    sum += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }
  return sum;
}

/** CPU seconds of all processes of the machine so far. */
export function machineCpuSeconds(): number {
  const busyMs = cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq);
  return busyMs.reduce((sum, each) => sum + each, 0) / 1000;
}

/** Returns the size of the files below a directory in MiB. */
export function diskMiB(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map(({ parentPath, name }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.blocks ?? 0);
  return (bytes.reduce((sum, blocks) => sum + blocks, 0) * BLOCK_BYTES) / 1024 / 1024;
}

interface Waiting {
  readonly withinMs?: number;
  /** Pause between two probes. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

/** Resolves when `probe` resolves with true; its errors count as false. */
export async function until(what: string, probe: () => Promise<boolean>, waiting: Waiting = {}): Promise<void> {
  const { withinMs = 60_000, pollMs = 10, signal } = waiting;
  const end = performance.now() + withinMs;
  for (;;) {
    if (await probe().catch(() => false)) return;
    signal?.throwIfAborted();
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs} ms`);
    await new Promise((done) => setTimeout(done, pollMs));
  }
}
