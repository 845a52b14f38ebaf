/**
 * Identifies a process by its id and its start time, because the system uses process ids again. A signal is never sent to a process that
 * has only the id.
 */
import { readFileSync } from "node:fs";
import { causeCode } from "@perdure/base";
import { psField } from "./ps.js";

/** Returns the start time of the process in the text of the system; undefined when the process has ended. */
export function identityOf(pid: number): string | undefined {
  return process.platform === "linux" ? ofLinux(pid) : psField(pid, "lstart");
}

/** Whether the process with this id is still the same one; false when it has ended, also when another process has its id now. */
export function isAlive(pid: number, identity: string): boolean {
  return identityOf(pid) === identity;
}

/** Sends the signal if the process is still the same one. Does nothing when it has ended meanwhile. */
export function signal(pid: number, identity: string, name: "SIGTERM" | "SIGKILL"): void {
  if (!isAlive(pid, identity)) return;
  try {
    process.kill(pid, name);
  } catch (cause) {
    if (causeCode(cause) !== "ESRCH") throw cause;
  }
}

const bootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

/** The 22nd field: ticks since boot. The second one is a name in parentheses, and may contain any character. */
function ofLinux(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (cause) {
    const code = causeCode(cause);
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw cause;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startedAt] = [fields[0], fields[19]];
  // The process has ended, but its parent has not read its exit status.
  return state === "Z" || state === "X" || startedAt === undefined ? undefined : `${bootId()} ${startedAt}`;
}
