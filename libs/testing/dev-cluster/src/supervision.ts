/**
 * A cluster or a cloud either belongs to its test, which ends it with its last reference, or is run for a user: then a group lists its
 * programs, starts them again and stops them in order, and each continues with a log file of its own when this process crashes.
 */
import { dirname } from "node:path";
import type { GroupMember, ProcessGroup, ProcessStage } from "@perdure/processes";
import { builtBundle } from "./bundle.js";
import { ServiceProgram, type ServiceProgramOptions } from "./service-program.js";

/** Shows that something is being waited for, then what came of it. Rejects when the work does. */
export type ShowProgress = (what: string, done: string, work: Promise<unknown>) => Promise<void>;

export interface Supervision {
  readonly group: ProcessGroup;
  /** Directory of the log files. */
  readonly logs: string;
  readonly show: ShowProgress;
}

/** Starts the programs of one cluster or cloud, and owns them when no group does. */
export class Starter implements AsyncDisposable {
  readonly #supervision: Supervision | undefined;
  readonly #owned = new AsyncDisposableStack();

  constructor(supervision: Supervision | undefined) {
    this.#supervision = supervision;
  }

  /** Takes a program that runs. */
  keep<T extends GroupMember & AsyncDisposable>(name: string, stage: ProcessStage, program: T): T {
    if (this.#supervision === undefined) return this.#owned.use(program);
    this.#supervision.group.keep(name, stage, program);
    return program;
  }

  /** Disposes of it after the programs that are started later. */
  use<T extends AsyncDisposable>(resource: T): T {
    return this.#owned.use(resource);
  }

  /** Starts a role without waiting until it is ready. */
  async launch(name: string, stage: ProcessStage, options: ServiceProgramOptions): Promise<ServiceProgram> {
    return this.keep(name, stage, await ServiceProgram.launch({ ...options, name, ...this.#supervised(options) }));
  }

  /** A user's programs are built before. */
  #supervised({ service, bundle }: ServiceProgramOptions): Partial<ServiceProgramOptions> {
    if (this.#supervision === undefined) return {};
    return { bundle: bundle ?? dirname(builtBundle(`services/${service}`)), logs: this.#supervision.logs };
  }

  /** Resolves when all are ready. */
  async ready(programs: readonly ServiceProgram[]): Promise<void> {
    const all = programs.map((program) => ({ program, ready: program.ready() }));
    for (const { ready } of all) ready.catch(() => undefined); // A failure is reported where this is awaited.
    for (const { program, ready } of all) {
      await this.show(`starting ${program.name}`, `${program.name} is ready (process ${program.pid})`, ready);
    }
  }

  async show(what: string, done: string, work: Promise<unknown>): Promise<void> {
    if (this.#supervision === undefined) await work;
    else await this.#supervision.show(what, done, work);
  }

  /** Ends what no group has, in the reverse order of the starts. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
