/** Holds the state of the registry and applies changes one at a time. A conflict with another process reloads it and decides again. */
import { backoffMs, type Clock, invariant, type Logger, PerdureError, pause, type Random } from "@perdure/base";
import { keepUnchanged, type RegistrySnapshot } from "@perdure/control";
import { type MetadataStore, RegistryRefusal } from "@perdure/metadata";
import type { ServiceDefaults } from "./defaults.js";
import { CONFLICT_BOUNDS, CONFLICTS_MAX, LISTENERS_MAX, WAITING_CHANGES_MAX } from "./limits.js";
import { loadState, withWrites } from "./persistence.js";
import { isSameState, type RegistryState, type StateChange } from "./state.js";
import { turnVersion, withTurn } from "./turn.js";
import { snapshotOf, type ViewCache } from "./views.js";

interface ManagerPorts {
  readonly metadata: MetadataStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class RegistryManager {
  readonly #ports: ManagerPorts;
  readonly #defaults: ServiceDefaults;
  readonly #views: ViewCache = new WeakMap();
  readonly #listeners = new Set<() => void>();
  /** Version of the document that each change of any process writes. */
  #turn: number;
  #state: RegistryState;
  #snapshot: RegistrySnapshot;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Rejects with META0005 when the documents are damaged, with the store's error when they cannot be read. */
  static async open(ports: ManagerPorts, defaults: ServiceDefaults): Promise<RegistryManager> {
    // Before the state: a change between the two reads is then detected as a conflict.
    const turn = await turnVersion(ports.metadata);
    return new RegistryManager(ports, defaults, turn, await loadState(ports.metadata));
  }

  private constructor(ports: ManagerPorts, defaults: ServiceDefaults, turn: number, state: RegistryState) {
    this.#ports = ports;
    this.#defaults = defaults;
    this.#turn = turn;
    this.#state = state;
    this.#snapshot = snapshotOf(state, defaults, this.#views);
  }

  state(): RegistryState {
    return this.#state;
  }

  snapshot(): RegistrySnapshot {
    return this.#snapshot;
  }

  /** Resolves with the answer of the decision when its writes are durable. Rejects with what `decide` throws. */
  change<T>(decide: (state: RegistryState) => StateChange<T>): Promise<T> {
    return this.#inTurn(() => this.#changeNow(decide));
  }

  /** Reads everything again. The previous state is kept when that fails. */
  reload(): Promise<void> {
    return this.#inTurn(() => this.#load());
  }

  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    invariant(this.#listeners.size < LISTENERS_MAX, "listeners for registry changes stop listening when they are done");
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #show(next: RegistryState): void {
    this.#state = next;
    this.#snapshot = keepUnchanged(snapshotOf(next, this.#defaults, this.#views), this.#snapshot);
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (cause) {
        this.#ports.logger.error({ cause }, "a listener for registry changes failed");
      }
    }
  }

  async #load(): Promise<void> {
    const { metadata } = this.#ports;
    const present = await turnVersion(metadata);
    const stored = await loadState(metadata);
    this.#turn = present;
    if (!isSameState(stored, this.#state)) this.#show(stored); // Most change events are about this process's own change.
  }

  /** A refusal, or that there is nothing to do, may rest on a state that another process has changed since. */
  async #decideNow<T>(decide: (state: RegistryState) => StateChange<T>): Promise<StateChange<T>> {
    let decided: StateChange<T> | undefined;
    let refusal: unknown;
    try {
      decided = decide(this.#state);
      if (decided.writes.length > 0) return decided; // The write will detect a conflict.
    } catch (cause) {
      if (!(cause instanceof RegistryRefusal)) throw cause;
      refusal = cause;
    }
    if ((await turnVersion(this.#ports.metadata)) !== this.#turn) {
      await this.#load();
      return decide(this.#state);
    }
    if (decided === undefined) throw refusal;
    return decided;
  }

  async #changeNow<T>(decide: (state: RegistryState) => StateChange<T>): Promise<T> {
    const { metadata, clock, random } = this.#ports;
    for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt++) {
      const { writes, answer } = await this.#decideNow(decide);
      if (writes.length === 0) return answer;
      const outcome = await metadata.write(withTurn(writes, this.#turn));
      if (outcome.kind === "written") {
        this.#turn = outcome.version;
        this.#show(withWrites(this.#state, writes, outcome.version));
        return answer;
      }
      await this.#load();
      // Random, so that two processes do not conflict again.
      if (attempt > 1) await pause(clock, backoffMs(attempt - 1, CONFLICT_BOUNDS, random));
    }
    throw new PerdureError("STO0001", `${CONFLICTS_MAX} other changes came first, one after the other; try again`);
  }

  /** Runs each change in its turn; a failed change does not affect the next. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    invariant(this.#waiting < WAITING_CHANGES_MAX, "waiting changes of the registry are bounded by the API in front");
    this.#waiting++;
    const turn = this.#tail.then(work).finally(() => this.#waiting--);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }
}
