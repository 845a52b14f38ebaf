/** Programs that a run starts end with it, also when it is interrupted. */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** The same child, which is killed when this process ends first. */
export function ownedChild<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}
