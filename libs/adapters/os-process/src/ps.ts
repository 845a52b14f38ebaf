/** Reads facts about a process with `ps`, on systems without `/proc`. */
import { execFileSync } from "node:child_process";

/** One field of the process, such as `rss` or `lstart`; undefined when the process has ended. Throws when `ps` cannot be run. */
export function psField(pid: number, field: "rss" | "lstart"): string | undefined {
  try {
    return execFileSync("ps", ["-o", `${field}=`, "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch (cause) {
    const hasExited = typeof cause === "object" && cause !== null && "status" in cause && typeof cause.status === "number";
    if (hasExited) return undefined; // There is no such process.
    throw cause;
  }
}
