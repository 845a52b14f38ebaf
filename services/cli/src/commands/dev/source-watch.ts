/**
 * Watches source files of a service whose command does not reload them (Python, Go, Rust, the JVM, Node without a watcher): `perdure dev`
 * restarts the service when one changes. Modification times are read once a second, because recursive file watchers also
 * follow dependencies and run out of handles there.
 */
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { PROBE_PAUSE_MS } from "./limits.js";
import { changeBetween, sourcesIn } from "./sources.js";

/** Calls `changed` with one path after files have changed and then stayed the same for one poll; rejects when the signal fires. */
export async function watchSources(
  context: Context,
  folder: string,
  extensions: readonly string[],
  changed: (path: string) => Promise<void>,
): Promise<never> {
  let last = sourcesIn(folder, extensions);
  let pending: string | undefined;
  for (;;) {
    await pause(context, PROBE_PAUSE_MS);
    const next = sourcesIn(folder, extensions);
    const path = changeBetween(last, next);
    last = next;
    if (path !== undefined) pending = path;
    else if (pending !== undefined) {
      const first = pending;
      pending = undefined;
      await changed(first);
    }
  }
}
