/** The machine of a run: what it is, what runs on it, and whether it does anything else meanwhile. */
import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { sdkVersions } from "./endpoints.js";
import { cpuSeconds, machineCpuSeconds, root } from "./processes.js";
import type { Machine } from "./record.js";
import { REFERENCE_VERSION } from "./servers.js";

const QUIET_CHECK_MS = 2_000;

export function machine(): Machine {
  const all = cpus();
  return {
    cpus: all.length,
    model: all[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
  };
}

export function versions(): Readonly<Record<string, string>> {
  const { rust, typescript } = sdkVersions();
  return { node: process.version, reference: REFERENCE_VERSION, rustSdk: rust, typescriptSdk: typescript };
}

/** Short hash of the commit, with `+` when files have changed since. */
export function commit(): string {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  return git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain", "--untracked-files=no") === "" ? "" : "+");
}

export const load = (): number => loadavg()[0] ?? 0;

/** Measures what processes other than this one and its descendants use: returns a function that returns their share of all processors. */
export function watchOthers(): () => number {
  const read = (): { all: number; ours: number } => ({ all: machineCpuSeconds(), ours: cpuSeconds(process.pid) });
  const before = read();
  const began = performance.now();
  return () => {
    const now = read();
    const available = ((performance.now() - began) / 1_000) * cpus().length;
    return Math.max(0, (now.all - before.all - (now.ours - before.ours)) / available);
  };
}

/** Share of all processors that other processes use before the first row. */
export async function othersShare(): Promise<number> {
  const share = watchOthers();
  await delay(QUIET_CHECK_MS);
  return share();
}
