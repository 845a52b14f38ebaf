/** The processes of a cluster on free ports, to be started, killed and restarted. */
import { join } from "node:path";
import { environmentOf, type RoleSettings } from "@perdure/cluster-kit/local";
import { programBundle } from "./bundle.js";
import { ChildProgram, type ProgramExit } from "./child.js";
import { SERVER_START_MS, SERVER_STOP_MS } from "./limits.js";

export interface ServiceProgramOptions {
  /** Its folder below `services`. */
  readonly service: string;
  readonly settings: RoleSettings;
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder with the bundle of another build; the one of this tree when absent. */
  readonly bundle?: string | undefined;
}

/** Facts that a program logs when it is ready, e.g. addresses of its listeners. */
export type ReadyFacts = Readonly<Record<string, string>>;

export class ServiceProgram implements AsyncDisposable {
  #options: ServiceProgramOptions;
  #child: ChildProgram;
  #ready: Promise<ReadyFacts>;

  private constructor(options: ServiceProgramOptions, launched: { child: ChildProgram; ready: Promise<ReadyFacts> }) {
    this.#options = options;
    this.#child = launched.child;
    this.#ready = launched.ready;
  }

  /** Starts the process without waiting until it is ready. */
  static async launch(options: ServiceProgramOptions): Promise<ServiceProgram> {
    return new ServiceProgram(options, await launch(options));
  }

  /** Resolves when the program logs that it is ready; rejects with its last lines when it ends instead or the timeout passes. */
  async ready(): Promise<ReadyFacts> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), SERVER_START_MS);
    });
    const facts = await Promise.race([this.#ready, this.#child.exited.then(() => undefined), timeout]);
    clearTimeout(timer);
    if (facts !== undefined) return facts;
    throw new Error(`${this.#options.service} did not get ready:\n${this.#child.lastLines()}`);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get lines(): readonly string[] {
    return this.#child.lines;
  }

  get isRunning(): boolean {
    return this.#child.exit === undefined;
  }

  kill(): Promise<ProgramExit> {
    return this.#child.kill();
  }

  stop(): Promise<ProgramExit> {
    return this.#child.stop(SERVER_STOP_MS);
  }

  /** Starts it again with the same settings, after `kill` or `stop`; `changed` settings apply to this start only. */
  async launchAgain(changed: RoleSettings = {}): Promise<void> {
    const launched = await launch({ ...this.#options, settings: { ...this.#options.settings, ...changed } });
    this.#child = launched.child;
    this.#ready = launched.ready;
  }

  /** Uses another build for the next starts; undefined: the build of this tree. */
  useBundle(bundle: string | undefined): void {
    this.#options = { ...this.#options, bundle };
  }

  /** Runs a command of the program with its settings; resolves with its exit code and output. */
  async runCommand(...args: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
    const { path, environment } = await commandOf(this.#options);
    const child = ChildProgram.start(process.execPath, [path, ...args], environment);
    const { code } = await child.exited;
    return { code, text: child.lines.join("\n") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.kill();
  }
}

async function commandOf({ service, settings, environment, bundle }: ServiceProgramOptions) {
  return {
    path: bundle === undefined ? await programBundle(`services/${service}`) : join(bundle, "main.mjs"),
    environment: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      ...environment,
      ...environmentOf({ "log-format": "json", ...settings }),
    },
  };
}

async function launch(options: ServiceProgramOptions): Promise<{ child: ChildProgram; ready: Promise<ReadyFacts> }> {
  const { path, environment } = await commandOf(options);
  const ready = Promise.withResolvers<ReadyFacts>();
  const child = ChildProgram.start(process.execPath, [path], environment, (line) => {
    if (line.includes('"msg":"ready"')) ready.resolve(JSON.parse(line) as ReadyFacts);
  });
  return { child, ready: ready.promise };
}
