/**
 * Why: a suite that leaves a listener, a socket or a process behind hides a bug and slows every suite after it. Timers are not
 * watched: the test runner has its own running through a whole file.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HANDLES_CLOSE_MS } from "./limits.js";

const WATCHED: ReadonlySet<string> = new Set(["TCPSocketWrap", "TCPServerWrap", "ProcessWrap", "FSEvent", "Worker"]);

/** How many of each kind were open. */
export type OpenHandles = ReadonlyMap<string, number>;

export function openHandles(): OpenHandles {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) if (WATCHED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Resolves when no more is open than before; rejects with what is, when it does not close soon. */
export async function untilClosed(before: OpenHandles): Promise<void> {
  const deadline = performance.now() + HANDLES_CLOSE_MS;
  for (;;) {
    const left = [...openHandles()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
    if (left.length === 0) return;
    if (performance.now() > deadline) throw new Error(`left open: ${left.join(", ")}`);
    await delay(10);
  }
}
