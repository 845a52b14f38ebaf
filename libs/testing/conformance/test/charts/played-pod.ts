/**
 * A pod of the release as a process: with the arguments and environment of its container, and flags for paths that differ on this machine.
 * Shows that programs become ready with their settings, not only that they accept them.
 */
import { ChildProgram } from "../../src/index.js";
import type { Container } from "./release.js";

const READY_MS = 60_000;

export interface PlayedPodOptions {
  readonly bundle: string;
  readonly container: Container;
  /** Values of variables that refer to something, by their name. */
  readonly references: Readonly<Record<string, string>>;
  /** Instead of a pod's addresses and files. */
  readonly flags: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

export class PlayedPod implements AsyncDisposable {
  readonly #child: ChildProgram;
  readonly #ready: Promise<string>;

  constructor({ bundle, container, references, flags, environment }: PlayedPodOptions) {
    const variables = container.env.map(({ name, value }) => [name, value ?? references[name] ?? "pod-0"] as const);
    const env = { PATH: process.env["PATH"], ...environment, ...Object.fromEntries(variables) };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const args = [bundle, ...(container.args ?? []), ...flags];
    this.#child = ChildProgram.start(process.execPath, args, env, (line) => {
      if (line.includes('"msg":"ready"')) resolve((JSON.parse(line) as { readonly probes: string }).probes);
    });
    const timer = setTimeout(
      () => reject(new Error(`${container.name} is not ready: ${this.#child.lines.join("\n")}`)),
      READY_MS,
    );
    void this.#child.exited.then(() => reject(new Error(`${container.name} has ended: ${this.#child.lines.join("\n")}`)));
    this.#ready = promise.finally(() => clearTimeout(timer));
    this.#ready.catch(() => undefined); // Callers of `ready` get the error.
  }

  /** Status that its readiness probe sees, once it serves. */
  async probed(): Promise<number> {
    const url = await this.#ready;
    return (await fetch(url)).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
  }
}
