/** One process whose threads lead all partitions: they crash together, and the next start may have another number of threads. */
import { type InvocationId, partitionsOfThread, present } from "@perdure/base";
import { Claims, Leader } from "../leader.js";
import type { Leaders, Surroundings } from "../reach.js";
import { partitionFor, type SimulatedWorld } from "../world.js";
import { SimulatedPorts } from "./ports.js";
import type { ThreadsSettings } from "./settings.js";

/** Time until a process that ended is started again. */
const RESTART_MS = 300;

export class ThreadedServer implements Leaders {
  readonly #world: SimulatedWorld;
  readonly #surroundings: Surroundings;
  readonly #settings: ThreadsSettings;
  readonly #claims: Claims;
  /** The threads of the present process, by number. */
  #threads: readonly Leader[] = [];
  #startCount = 0;

  constructor(surroundings: Surroundings, settings: ThreadsSettings) {
    this.#world = surroundings.world;
    this.#surroundings = surroundings;
    this.#settings = settings;
    this.#claims = new Claims(surroundings.world);
  }

  start(): void {
    this.#begin();
    this.#crashSometimes();
  }

  /** Does nothing, because the weather belongs to the world. */
  calm(): void {}

  check(): void {
    for (const thread of this.#threads) thread.check();
  }

  get closing(): readonly string[] {
    return this.#threads.filter((thread) => thread.alive && thread.stopping).map((thread) => thread.name);
  }

  leaderFor(id: InvocationId): Leader | undefined {
    const thread = this.#threadOf(partitionFor(this.#world, id));
    return thread.partitions === undefined ? undefined : thread;
  }

  #threadOf(partition: number): Leader {
    return present(this.#threads[partition % this.#threads.length]);
  }

  #begin(): void {
    const { counts } = this.#settings;
    const count = present(counts[this.#startCount++ % counts.length]);
    this.#threads = Array.from({ length: count }, (_, thread) => this.#newThread(thread, count));
    for (const thread of this.#threads) {
      thread.start().catch((cause: unknown) => {
        if (!thread.alive || thread.stopping) return; // Its storage has failed, which it has reported.
        const why = cause instanceof Error ? cause.stack : String(cause);
        this.#world.findings.report("no process reports an internal error", `${thread.name} cannot start: ${why}`);
      });
    }
  }

  #newThread(number: number, count: number): Leader {
    const world = this.#world;
    const { partitions } = partitionsOfThread(number, count, world.settings.partitionCount);
    const thread: Leader = new Leader(`t${number}#${this.#startCount}`, partitions, {
      ...this.#surroundings,
      remote: new SimulatedPorts(
        world,
        this.#settings,
        () => thread.alive,
        (partition) => this.#threadOf(partition),
      ),
      route: (partition) => this.#threadOf(partition),
      claims: this.#claims,
      gone: () => this.#ended(),
    });
    return thread;
  }

  /** A thread has ended, and so the process does. */
  #ended(): void {
    const threads = this.#threads;
    if (threads.every((thread) => !thread.alive)) {
      const { scheduler } = this.#world;
      scheduler.after(RESTART_MS * scheduler.random.float(), () => {
        if (this.#threads === threads) this.#begin();
      });
    }
    for (const thread of threads) thread.crash("with its process");
  }

  #crashSometimes(): void {
    const { scheduler, weather } = this.#world;
    if (weather.crashEveryMs === undefined) return;
    scheduler.after(-Math.log(1 - scheduler.random.float()) * weather.crashEveryMs, () => {
      if (this.#world.weather.crashEveryMs === undefined) return;
      scheduler.random.pick(this.#threads).crash("by itself");
      this.#crashSometimes();
    });
  }
}
