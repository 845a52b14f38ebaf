/** A test that leaves a socket, timer or worker behind hides a bug and slows every test after it. */
import { createHook } from "node:async_hooks";

/** Kinds of resources that keep a process running when they are not closed; requests and promises end by themselves. */
const WATCHED: ReadonlySet<string> = new Set([
  "Timeout",
  "TCPSERVERWRAP",
  "TCPWRAP",
  "PIPESERVERWRAP",
  "PIPEWRAP",
  "UDPWRAP",
  "PROCESSWRAP",
  "WORKER",
  "FILEHANDLE",
  "FSEVENTWRAP",
  "STATWATCHER",
]);
/** Handles close on a later turn of the event loop; they are checked this many times before they count as a leak. */
const TURNS_MAX = 50;
const FRAMES_SHOWN = 3;
/** A single test file runs in the process that shows how far it is, which has timers of its own. */
const REPORTERS = "@jest/reporters/";

type WatchedResource = { kind: string; resource: object; created: string };

/** Watches from `leakCheck()` on. `settled()`, or the end of an `await using` block, checks whether anything was left open. */
export interface LeakCheck extends AsyncDisposable {
  /**
   * Resolves when all resources opened since are closed again, after some turns of the event loop; else rejects with the open resources and
   * where they were opened.
   */
  closed(): Promise<void>;
}

/**
 * Begins to watch timers, sockets, servers, processes, workers and files of the whole process. Unref'd timers are not a leak.
 * With `await using`, declare it before what it watches: disposal goes backwards.
 */
export function leakCheck(): LeakCheck {
  const open = new Map<number, WatchedResource>();
  const hook = createHook({
    init(asyncId, kind, _trigger, resource) {
      if (WATCHED.has(kind)) open.set(asyncId, { kind, resource, created: caller() });
    },
    destroy(asyncId) {
      open.delete(asyncId);
    },
  });
  hook.enable();

  async function closed(): Promise<void> {
    let left = leaks(open);
    for (let turn = 0; left.length > 0 && turn < TURNS_MAX; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      left = leaks(open);
    }
    hook.disable();
    if (left.length > 0) throw new Error(`left open: ${left.join("; ")}`);
  }
  return { closed, [Symbol.asyncDispose]: closed };
}

function leaks(open: ReadonlyMap<number, WatchedResource>): string[] {
  const left: string[] = [];
  for (const { kind, resource, created } of open.values()) {
    if (kind === "Timeout" && !(resource as NodeJS.Timeout).hasRef()) continue;
    if (created.includes(REPORTERS)) continue;
    left.push(`${kind} opened ${created}`);
  }
  return left;
}

/** The innermost frames that are neither Node's nor ours. */
function caller(): string {
  const frames = (new Error("where from").stack ?? "").split("\n").slice(1);
  const foreign = frames.filter((frame) => !frame.includes("node:") && !frame.includes("leak-check.ts"));
  return foreign
    .slice(0, FRAMES_SHOWN)
    .map((frame) => frame.trim())
    .join(" ");
}
