/**
 * Detects listeners, sockets and processes that a suite leaves open, which hide bugs and slow later suites. Timers are not checked,
 * because the test runner has its own.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HANDLES_CLOSE_MS } from "./limits.js";

const WATCHED: ReadonlySet<string> = new Set(["TCPSocketWrap", "TCPServerWrap", "ProcessWrap", "FSEvent", "Worker"]);

/** Number of open handles by kind. */
export type OpenHandles = ReadonlyMap<string, number>;

export function openHandles(): OpenHandles {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) if (WATCHED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Resolves when no more handles are open than before; rejects with the open ones after a timeout. */
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
