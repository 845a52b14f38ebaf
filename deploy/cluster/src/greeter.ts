/** Runs the services of the example as a process beside the cluster; the demo reads the steps from its output. */
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { DemoProgram } from "@perdure/example-greeter/demo/program";
import { waitFor } from "@perdure/example-greeter/demo/terminal";
import type { Record } from "@perdure/processes";
import { GREETER_PAUSE_MS, GREETER_RESTARTS_MAX, READY_MS_MAX } from "./limits.js";
import { type LocalClusterSettings, ROOT } from "./settings.js";

export class Greeter {
  readonly #settings: LocalClusterSettings;
  readonly #record: Record;
  #program: DemoProgram | undefined;
  #restarts = 0;
  readonly #stopping = new AbortController();

  constructor(settings: LocalClusterSettings, record: Record) {
    this.#settings = settings;
    this.#record = record;
  }

  /** Resolves when the greeter listens. From then on it is restarted when it ends. */
  async start(onLine: (text: string) => void): Promise<void> {
    let isListening = false;
    const program = this.#launch((text) => {
      isListening ||= text.startsWith("listening");
      onLine(text);
    });
    const ready = program.untilReady(async () => {
      if (!isListening) throw new Error("not listening yet");
    }, READY_MS_MAX);
    await waitFor("starting the greeter", () => `the greeter listens on port ${this.#settings.ports.greeter}`, ready);
    void this.#watch(program, onLine);
  }

  /** Never rejects. A program that fails again and again is not restarted any more; its last lines show why. */
  async #watch(first: DemoProgram, onLine: (text: string) => void): Promise<void> {
    let program = first;
    while (this.#restarts++ < GREETER_RESTARTS_MAX) {
      await program.exited;
      await setTimeout(GREETER_PAUSE_MS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      try {
        program = this.#launch(onLine);
      } catch {
        // It ended before it could be put on the list; the next iteration starts another.
      }
    }
  }

  #launch(onLine: (text: string) => void): DemoProgram {
    const { greeter } = this.#settings.ports;
    const program = new DemoProgram({
      name: "the greeter",
      command: process.execPath,
      args: [join(ROOT, "deploy/examples/greeter/src/main.ts")],
      cwd: ROOT,
      env: { ...process.env, PORT: String(greeter), RESTATE_LOGGING: "ERROR" },
      onLine,
    });
    this.#program = program;
    if (program.pid !== undefined) this.#record.add("greeter", program.pid);
    return program;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#program?.stop();
  }
}
