/** Stops the runtimes of a folder when no provisioner manages them any more. */
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { causeCode } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { EnvironmentFiles } from "./files.js";
import { STOP_MS_MAX, WATCH_EVERY_MS } from "./limits.js";
import { isAlive, signal } from "./process-identity.js";

/**
 * Stops the runtimes of all environments of this folder; their data stay. Resolves with those it stopped. No provisioner may be open on it.
 */
export async function stopRuntimesOf(directory: string): Promise<readonly EnvironmentId[]> {
  const running = environmentsOf(directory).flatMap((id) => {
    const record = new EnvironmentFiles(directory, id).process;
    return record !== undefined && isAlive(record.pid, record.identity) ? [{ id, ...record }] : [];
  });
  for (const { pid, identity } of running) signal(pid, identity, "SIGTERM");
  const deadline = performance.now() + STOP_MS_MAX;
  while (running.some(({ pid, identity }) => isAlive(pid, identity)) && performance.now() < deadline) await delay(WATCH_EVERY_MS);
  for (const { pid, identity } of running) signal(pid, identity, "SIGKILL");
  return running.map(({ id }) => id);
}

function environmentsOf(directory: string): readonly EnvironmentId[] {
  try {
    return readdirSync(directory).filter((name): name is EnvironmentId => name.startsWith("env_"));
  } catch (cause) {
    if (causeCode(cause) === "ENOENT") return [];
    throw cause;
  }
}
