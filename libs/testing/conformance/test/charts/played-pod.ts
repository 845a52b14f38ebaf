/**
 * A pod of the release as a process: with the arguments and environment of its container, and flags for paths that differ on this machine.
 * Shows that programs become ready with their settings, not only that they accept them.
 */
import { readyFactsOf } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
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

  private constructor(child: ChildProgram) {
    this.#child = child;
  }

  static async start({ bundle, container, references, flags, environment }: PlayedPodOptions): Promise<PlayedPod> {
    const variables = container.env.map(({ name, value }) => [name, value ?? references[name] ?? "pod-0"] as const);
    const child = await ChildProgram.start({
      name: container.name,
      command: process.execPath,
      args: [bundle, ...(container.args ?? []), ...flags],
      env: { PATH: process.env["PATH"], ...environment, ...Object.fromEntries(variables) },
    });
    return new PlayedPod(child);
  }

  /** Status that its readiness probe sees, once it serves. */
  async probed(): Promise<number> {
    const { probes } = await this.#child.ready(() => readyFactsOf(this.#child.lines), READY_MS);
    return (await fetch(probes as string)).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
  }
}
