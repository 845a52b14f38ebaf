/**
 * Ends a group of processes in order: requests its supervisor to stop it or, when the supervisor has crashed, stops the listed processes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ORDERLY_MS_MAX, POLL_MS, STOP_MS_MAX } from "./limits.js";
import { isAlive, type ListedProcess, type Record, signalTo } from "./record.js";

/** Stops the listed processes, the last started first. Resolves with the names of those that had to be stopped here. */
export async function stopListed(record: Record): Promise<string[]> {
  const { supervisor } = record;
  if (supervisor !== undefined && isAlive(supervisor)) {
    signalTo(supervisor, "SIGTERM");
    await untilGone([supervisor], ORDERLY_MS_MAX);
    signalTo(supervisor, "SIGKILL");
  }
  // Servers go last: roles take leave of their groups and leases there.
  const alive = record.alive().toReversed();
  const left = [...alive.filter(({ stage }) => stage !== "server"), ...alive.filter(({ stage }) => stage === "server")];
  for (const one of left) {
    signalTo(one, "SIGCONT"); // A frozen process does not handle the signal.
    signalTo(one, one.stopSignal ?? "SIGTERM");
    await untilGone([one], STOP_MS_MAX);
    signalTo(one, "SIGKILL");
  }
  await untilGone(left, STOP_MS_MAX);
  record.clear();
  return left.map(({ name }) => name);
}

async function untilGone(all: readonly ListedProcess[], withinMs: number): Promise<void> {
  for (const deadline = performance.now() + withinMs; all.some(isAlive) && performance.now() < deadline; ) await delay(POLL_MS);
}
