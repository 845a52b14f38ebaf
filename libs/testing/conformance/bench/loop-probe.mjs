/**
 * Loaded into the server by `event-loop.ts` (`node --import`). Appends to $LOOP_PROBE one line for each time that the event loop's thread used much
 * processor time between two timers of 5 ms: such a stall is its own, and not that of another process on the machine.
 */
import { appendFileSync } from "node:fs";

const TICK_MS = 5;
const NOTED_MS = 10;
const path = process.env["LOOP_PROBE"];

if (path !== undefined) {
  let last = process.threadCpuUsage();
  setInterval(() => {
    const used = process.threadCpuUsage(last);
    const cpuMs = (used.user + used.system) / 1000;
    if (cpuMs >= NOTED_MS) appendFileSync(path, `${cpuMs}\n`);
    last = process.threadCpuUsage();
  }, TICK_MS).unref();
}
