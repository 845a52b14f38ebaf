/**
 * Loaded into the server by `schedules.server.test.ts` (`node --import`): the clock of the process is ahead by the milliseconds in the file
 * $CLOCK_AHEAD, so that a server is down for long without a test that waits for as long.
 */
import { readFileSync } from "node:fs";

const path = process.env["CLOCK_AHEAD"];
if (path !== undefined) {
  const aheadMs = Number(readFileSync(path, "utf8"));
  const now = Date.now;
  Date.now = () => now() + aheadMs;
}
