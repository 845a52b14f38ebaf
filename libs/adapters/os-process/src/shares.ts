/**
 * Runtimes share a machine, and none may take it from the others or from the platform. With a control group (cgroup v2) from the operator
 * the kernel limits each runtime to its memory and shares the processors fairly. Without one runtimes have a lower priority than the
 * platform (`nice`), and `watchdog.ts` checks their memory.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { causeCode, causeMessage, PerdureError } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { CGROUP_MEMORY_SLACK, CGROUP_SQL_MIB, CGROUP_TASKS_MAX, NICENESS } from "./limits.js";

export interface Shares {
  /** Lines of a shell script that runs before the runtime, and the prefix of its command. */
  prepare(id: EnvironmentId, memoryMib: number): { readonly script: string; readonly prefix: readonly string[] };
  /** Call it when no process of the environment runs any more. */
  release(id: EnvironmentId): void;
}

const NEEDED = ["cpu", "memory", "pids"];
const MIB = 1024 * 1024;

/** Shares without control groups: runtimes have a lower priority than the platform's processes. */
export const niceShares: Shares = {
  prepare: () => ({ script: "", prefix: ["nice", "-n", String(NICENESS)] }),
  release: () => undefined,
};

/**
 * `group`: a directory of cgroup v2 that only this process uses and that has no processes (systemd: `Delegate=yes` and
 * `DelegateSubgroup=`). Throws OPS0001 when it cannot be used.
 */
export function cgroupShares(group: string): Shares {
  try {
    const controllers = readFileSync(join(group, "cgroup.controllers"), "utf8").trim().split(" ");
    const missing = NEEDED.filter((name) => !controllers.includes(name));
    if (missing.length > 0) throw new Error(`it has no controller '${missing.join("', '")}'`);
    writeFileSync(join(group, "cgroup.subtree_control"), NEEDED.map((name) => `+${name}`).join(" "));
  } catch (cause) {
    const why = causeMessage(cause);
    throw new PerdureError("OPS0001", `'provisioner.cgroup' ${group} cannot be used: ${why}`, { cause });
  }
  const ofEnvironment = (id: EnvironmentId): string => join(group, id);
  return {
    prepare(id, memoryMib) {
      const own = ofEnvironment(id);
      mkdirSync(own, { recursive: true });
      const bytes = (Math.ceil(memoryMib * CGROUP_MEMORY_SLACK) + CGROUP_SQL_MIB) * MIB;
      // When memory is short the kernel kills a statement's process first, and only that one.
      const settings = { "memory.max": bytes, "memory.oom.group": 0, "cpu.weight": 100, "pids.max": CGROUP_TASKS_MAX };
      for (const [name, value] of Object.entries(settings)) writeFileSync(join(own, name), String(value));
      // The shell enters it and then becomes the runtime, so that nothing of it was ever outside.
      return { script: `echo $$ > '${join(own, "cgroup.procs").replaceAll("'", "'\\''")}' || exit 1; `, prefix: [] };
    },
    release(id) {
      try {
        rmdirSync(ofEnvironment(id));
      } catch (cause) {
        // The group was never made, or the kernel still counts processes that have ended; an empty group costs nothing.
        const code = causeCode(cause);
        if (code !== "ENOENT" && code !== "EBUSY" && code !== "ENOTEMPTY") throw cause;
      }
    },
  };
}
