/** Processes that use a whole core each, at normal priority: a machine without idle cores. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpus } from "node:os";
import { ownedChild } from "./children.js";

/** Ends by itself when its parent has ended, whose end closes the pipe. */
const BURN =
  "process.stdin.on('end', () => process.exit()).resume(); const burn = () => { const end = Date.now() + 100; while (Date.now() < end); setImmediate(burn); }; burn();";

export class Burners implements Disposable {
  readonly #children: readonly ChildProcess[];

  constructor(count = cpus().length) {
    this.#children = Array.from({ length: count }, () =>
      ownedChild(spawn(process.execPath, ["-e", BURN], { stdio: ["pipe", "ignore", "ignore"] })),
    );
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
