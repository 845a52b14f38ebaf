/** Why: a test that leaves a socket, timer or worker behind hides a bug and slows every test after it. */

/** Kinds of resource that belong to the process itself, not to what is under test. */
const OWN_TO_PROCESS: ReadonlySet<string> = new Set([
  "TTYWrap",
  "PipeWrap",
  "MessagePort",
  "FSReqPromise",
  "FSReqCallback",
  "CloseReq",
]);
/** Handles close on a later turn of the event loop; we look again this many times before calling it a leak. */
const TURNS_MAX = 50;

/** Taken at the beginning of a test with `leakCheck()`; `settled()` at its end rejects when something was left open. */
export type LeakCheck = { settled(): Promise<void> };

/**
 * Remembers what keeps the event loop alive now. `settled()` resolves once nothing more than that is open, after
 * giving closing handles some turns of the event loop, and rejects with the kinds and counts that remain.
 */
export function leakCheck(): LeakCheck {
  const before = countResources();
  return {
    async settled() {
      let left = excess(before);
      for (let turn = 0; left.length > 0 && turn < TURNS_MAX; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        left = excess(before);
      }
      if (left.length > 0) throw new Error(`left open: ${left.join(", ")}`);
    },
  };
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!OWN_TO_PROCESS.has(kind) && kind !== "Immediate") counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function excess(before: ReadonlyMap<string, number>): string[] {
  const left: string[] = [];
  for (const [kind, count] of countResources()) {
    const more = count - (before.get(kind) ?? 0);
    if (more > 0) left.push(`${more} ${kind}`);
  }
  return left;
}
