/** A program of `services` as a process, to be started, killed and started again. */
import { dirname, join } from "node:path";
import { ChildProgram, type ProgramExit, type StopOptions } from "@perdure/processes";
import { programBundle } from "./bundle.js";
import { environmentOf, type RoleSettings } from "./cluster-settings.js";
import { READY_MS_MAX, STOP_MS_MAX } from "./limits.js";

export interface ServiceProgramOptions {
  /** Folder of the service below `services`. */
  readonly service: string;
  /** Name of the program in a cluster; the name of the folder when absent. */
  readonly name?: string;
  readonly settings: RoleSettings;
  /** Environment variables beside the settings; of the variables of this process, it gets only PATH and HOME. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Folder with the bundle of another build; that of this tree when absent, which is built first when its sources are newer. */
  readonly bundle?: string | undefined;
  /**
   * Directory of its log file `<name>.log`. With it the program continues when this process crashes, and belongs to our process group. When
   * absent, its output is kept in memory, and it ends with this process.
   */
  readonly logs?: string;
}

/** Facts that a program logs when it is ready, e.g. addresses of its listeners. */
export type ReadyFacts = Readonly<Record<string, string>>;

/** The facts that a program has logged among these lines; undefined while it is not ready. */
export function readyFactsOf(lines: readonly string[]): ReadyFacts | undefined {
  const line = lines.find((text) => text.includes('"msg":"ready"'));
  return line === undefined ? undefined : (JSON.parse(line) as ReadyFacts);
}

export class ServiceProgram implements AsyncDisposable {
  #options: ServiceProgramOptions;
  readonly #child: ChildProgram;
  #facts: ReadyFacts | undefined;

  private constructor(options: ServiceProgramOptions, child: ChildProgram) {
    this.#options = options;
    this.#child = child;
  }

  /** Starts the process without waiting until it is ready. */
  static async launch(options: ServiceProgramOptions): Promise<ServiceProgram> {
    const { logs } = options;
    const name = options.name ?? options.service;
    const output = logs === undefined ? {} : { logFile: join(logs, `${name}.log`), group: "shared" as const };
    const built = await withBundle(options);
    return new ServiceProgram(built, await ChildProgram.start({ name, ...commandOf(built), ...output }));
  }

  /** Resolves when the program logs that it is ready; rejects with its last lines when it ends instead or the timeout passes. */
  async ready(): Promise<ReadyFacts> {
    const find = (): ReadyFacts | undefined => readyFactsOf(this.#child.lines);
    this.#facts ??= find() ?? (await this.#child.ready(find, READY_MS_MAX));
    return this.#facts;
  }

  get name(): string {
    return this.#child.name;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The last lines of its output. */
  get lines(): readonly string[] {
    return this.#child.lines;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.signal(name);
  }

  kill(): Promise<ProgramExit> {
    return this.#child.kill();
  }

  stop(options: StopOptions = {}): Promise<ProgramExit> {
    return this.#child.stop({ withinMs: STOP_MS_MAX, ...options });
  }

  /**
   * Starts it again with the same settings after `kill` or `stop`, without waiting until it is ready; `changed` settings apply to this
   * start only.
   */
  async startAgain(changed: RoleSettings = {}): Promise<void> {
    const built = await withBundle(this.#options);
    this.#options = built;
    this.#facts = undefined;
    await this.#child.startAgain(commandOf({ ...built, settings: { ...built.settings, ...changed } }));
  }

  /** Uses another build for the next starts; undefined: the build of this tree. */
  useBundle(bundle: string | undefined): void {
    this.#options = { ...this.#options, bundle };
  }

  /** Runs a command of the program with its settings; resolves with its exit code and output. */
  async runCommand(...args: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
    const { command, args: program, env } = commandOf(await withBundle(this.#options));
    const child = await ChildProgram.start({ command, args: [...program, ...args], env });
    const { code } = await child.exited;
    return { code, text: child.lines.join("\n") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.kill();
  }
}

type BuiltOptions = ServiceProgramOptions & { readonly bundle: string };

/** Later starts use the same bundle, and do not search for newer sources. */
async function withBundle(options: ServiceProgramOptions): Promise<BuiltOptions> {
  return { ...options, bundle: options.bundle ?? dirname(await programBundle(`services/${options.service}`)) };
}

function commandOf({ settings, environment, bundle }: BuiltOptions) {
  return {
    command: process.execPath,
    args: [join(bundle, "main.mjs")],
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      ...environment,
      ...environmentOf({ "log-format": "json", ...settings }),
    },
  };
}
