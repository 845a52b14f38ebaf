/**
 * Measures the memory of a runtime. A runtime that takes more than its environment may have takes it from the others. Only memory that it
 * does not share counts.
 */
import { readFileSync } from "node:fs";
import { causeCode } from "@perdure/base";
import { privateKibOf } from "./proc-status.js";
import { psField } from "./ps.js";

const KIB_PER_MIB = 1024;

/**
 * MiB that only this process holds in memory. Mapped files, which the system reclaims when it needs memory, do not count where the system
 * reports them separately. Undefined when the process has ended.
 */
export function memoryMibOf(pid: number): number | undefined {
  const kib = process.platform === "linux" ? ofLinux(pid) : ofPs(pid);
  return kib === undefined ? undefined : kib / KIB_PER_MIB;
}

function ofLinux(pid: number): number | undefined {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch (cause) {
    const code = causeCode(cause);
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw cause;
  }
  return privateKibOf(status);
}

function ofPs(pid: number): number | undefined {
  const text = psField(pid, "rss");
  return text === undefined ? undefined : Number(text);
}
