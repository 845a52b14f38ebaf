/**
 * Locks files between `perdure` processes (shells, scripts, a tunnel), which share files and a refresh token that works once. A process
 * that reads, changes and writes holds a lock: a file beside the changed one, created so that only one process can create it.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { type Clock, causeCode, pause } from "@perdure/base";
import { FAILED, fail } from "../errors.js";
import { LOCK_AGE_MS_MAX, LOCK_POLL_MS, LOCK_WAIT_MS_MAX } from "../limits.js";

/**
 * Runs `work` while no other process holds the lock at `path`; creates its folder when there is none. The lock of a killed process is
 * removed. Ends the command when a process holds the lock for too long.
 */
export async function withLock<T>(path: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const deadlineMs = clock.monotonicMs() + LOCK_WAIT_MS_MAX;
  const token = `${process.pid} ${hostname()} ${process.hrtime.bigint()}\n`;
  while (!tryAcquire(path, token)) {
    removeStale(path, token, clock);
    if (clock.monotonicMs() > deadlineMs) {
      fail(FAILED, `Another perdure holds ${path}`, "Wait for it, or remove the file when none is running.");
    }
    await pause(clock, LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    if (textOf(path) === token) rmSync(path, { force: true });
  }
}

function tryAcquire(path: string, token: string): boolean {
  try {
    writeFileSync(path, token, { flag: "wx", mode: 0o600 });
    return true;
  } catch (cause) {
    if (causeCode(cause) === "EEXIST") return false;
    throw cause;
  }
}

/** Removes a stale lock. One of two processes that find the same lock renames it; a process that renamed a valid lock restores it. */
function removeStale(path: string, token: string, clock: Clock): void {
  const text = textOf(path);
  if (text === undefined || !isStale(path, text, clock)) return;
  const aside = `${path}.${token.split(" ")[0]}.dead`;
  try {
    renameSync(path, aside);
    if (textOf(aside) !== text) linkSync(aside, path);
  } catch (cause) {
    if (causeCode(cause) !== "ENOENT" && causeCode(cause) !== "EEXIST") throw cause;
  }
  rmSync(aside, { force: true });
}

function isStale(path: string, text: string, clock: Clock): boolean {
  const ageMs = clock.nowMs() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? clock.nowMs());
  const [pid, host] = text.trim().split(" ");
  // A lock is empty for a moment after its creation, and a process rarely ends in that moment.
  if (host !== hostname() || !/^\d+$/.test(pid ?? "")) return ageMs > LOCK_AGE_MS_MAX;
  return !isAlive(Number(pid)) || ageMs > LOCK_AGE_MS_MAX;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return causeCode(cause) === "EPERM";
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (causeCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}
