/** Why: the example's services as a process beside the cluster, whose steps the story listens to. */
import { join } from "node:path";
import { Program } from "@perdure/example-greeter/demo/program";
import { waitFor } from "@perdure/example-greeter/demo/terminal";
import type { Record } from "@perdure/processes";
import { READY_MS_MAX } from "./limits.js";
import { type ClusterSettings, ROOT } from "./settings.js";

export class Greeter {
  readonly #settings: ClusterSettings;
  readonly #record: Record;
  #program: Program | undefined;

  constructor(settings: ClusterSettings, record: Record) {
    this.#settings = settings;
    this.#record = record;
  }

  /** Resolves when it listens. */
  async start(onLine: (text: string) => void): Promise<void> {
    const { greeter } = this.#settings.ports;
    let isListening = false;
    const program = new Program({
      name: "the greeter",
      command: process.execPath,
      args: [join(ROOT, "deploy/examples/greeter/src/main.ts")],
      cwd: ROOT,
      env: { ...process.env, PORT: String(greeter), RESTATE_LOGGING: "ERROR" },
      onLine: (text) => {
        isListening ||= text.startsWith("listening");
        onLine(text);
      },
    });
    this.#program = program;
    if (program.pid !== undefined) this.#record.add("greeter", program.pid);
    const ready = program.untilReady(async () => {
      if (!isListening) throw new Error("not listening yet");
    }, READY_MS_MAX);
    await waitFor("starting the greeter", () => `the greeter listens on port ${greeter}`, ready);
  }

  async stop(): Promise<void> {
    await this.#program?.stop();
  }
}
