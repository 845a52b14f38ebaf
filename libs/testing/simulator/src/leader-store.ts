/**
 * The store as one leader reaches it: remote, slow, sometimes unavailable. A commit under way when its leader crashes may still arrive,
 * and the response to one that arrived may be lost; both happen at every commit boundary.
 */
import { type InvocationId, PerdureError } from "@perdure/base";
import type { Invocation, JournalEntry, JournalEvent, OutboxMessage, TimerKey } from "@perdure/state-machine";
import type {
  CommitOutcome,
  InboxRow,
  LockRow,
  PartitionBatch,
  PartitionStore,
  Population,
  PromiseRow,
  StateRange,
  StateRow,
  StoreCapabilities,
  StoredFlow,
  SyncReads,
  TimerGroup,
} from "@perdure/storage";
import { OldTimers } from "./crowd/old-timers.js";
import type { SimulatedWorld } from "./world.js";

/** The leader that uses the store. */
export interface StoreUser {
  readonly name: string;
  readonly alive: boolean;
  crash(why: string): void;
}

export interface StoreEvents {
  /** A higher epoch was given out: the former leader is deposed. */
  claimed(partition: number, epoch: number, by: StoreUser): void;
  /** The batches are durable from now on. */
  applied(batches: readonly PartitionBatch[], by: StoreUser): void;
}

export class LeaderStore implements PartitionStore {
  readonly capabilities: StoreCapabilities;
  readonly reads: SyncReads;
  readonly #store: PartitionStore;
  readonly #world: SimulatedWorld;
  readonly #user: StoreUser;
  readonly #events: StoreEvents;
  readonly #oldTimers: OldTimers;

  constructor(store: PartitionStore, world: SimulatedWorld, user: StoreUser, sharedBatch: boolean, events: StoreEvents) {
    this.#store = store;
    this.#world = world;
    this.#user = user;
    this.#events = events;
    this.#oldTimers = new OldTimers(world);
    this.capabilities = { sharedBatch };
    this.reads = store.reads;
  }

  async claim(partition: number): Promise<number> {
    await this.#way();
    const epoch = await this.#store.claim(partition);
    this.#events.claimed(partition, epoch, this.#user);
    await this.#way();
    return epoch;
  }

  commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const { scheduler, weather } = this.#world;
    const fails = scheduler.random.chance(weather.storeFailure);
    const crash = scheduler.random.chance(weather.crashAtCommit)
      ? scheduler.random.pick(["before", "after"] as const)
      : undefined;
    return new Promise((resolve, reject) => {
      const arrive = async (): Promise<void> => {
        if (crash === "before") return this.#user.crash("before its commit was durable");
        if (!this.#user.alive && scheduler.random.chance(0.5)) return; // The commit is lost with its leader, or arrives all the same.
        const lost = fails && scheduler.random.chance(0.5);
        const outcome: CommitOutcome = lost ? { kind: "committed" } : await this.#store.commit(batches);
        if (!lost && outcome.kind === "committed") this.#events.applied(batches, this.#user);
        if (crash === "after") return this.#user.crash("after its commit was durable");
        await this.#way();
        if (fails) reject(new PerdureError("STO0001", "the simulated medium failed"));
        else resolve(outcome);
      };
      scheduler.after(scheduler.latency(this.#world.settings.commitMs), () => void arrive().catch(reject));
    });
  }

  async readJournal(partition: number, id: InvocationId, length: number): Promise<JournalEntry[]> {
    return this.#read(() => this.#store.readJournal(partition, id, length), true);
  }
  async stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#read(() => this.#store.stateOf(partition, service, key));
  }
  async promisesOf(partition: number, service: string, key: string): Promise<readonly string[]> {
    return this.#read(() => this.#store.promisesOf(partition, service, key));
  }
  async timers(partition: number, group: TimerGroup, fromMs: number, limit: number): Promise<readonly TimerKey[]> {
    const page = await this.#read(() => this.#store.timers(partition, group, fromMs, limit));
    return this.#oldTimers.among(`${partition} ${group}`, page, fromMs, limit);
  }
  async outbox(partition: number, afterSeq: number, limit: number): Promise<readonly OutboxMessage[]> {
    return this.#read(() => this.#store.outbox(partition, afterSeq, limit));
  }
  async events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]> {
    return this.#read(() => this.#store.events(partition, id));
  }
  recoverable(partition: number, counted?: Population): AsyncIterable<Invocation> {
    return this.#scan(() => this.#store.recoverable(partition, counted));
  }
  async flow(partition: number): Promise<StoredFlow> {
    return this.#store.flow(partition);
  }
  unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation> {
    return this.#scan(() => this.#store.unfinished(partition, status));
  }
  completed(partition: number): AsyncIterable<Invocation> {
    return this.#scan(() => this.#store.completed(partition));
  }
  scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow> {
    return this.#scan(() => this.#store.scanState(partition, service, where));
  }
  scanPromises(partition: number): AsyncIterable<PromiseRow> {
    return this.#scan(() => this.#store.scanPromises(partition));
  }
  scanLocks(partition: number): AsyncIterable<LockRow> {
    return this.#scan(() => this.#store.scanLocks(partition));
  }
  scanInboxes(partition: number): AsyncIterable<InboxRow> {
    return this.#scan(() => this.#store.scanInboxes(partition));
  }

  /** Does nothing, because the world owns the data. */
  async [Symbol.asyncDispose](): Promise<void> {}

  /** Reads at some moment between request and response. */
  async #read<T>(read: () => Promise<T>, mayFail = false): Promise<T> {
    await this.#way();
    const value = await read();
    await this.#way();
    if (mayFail && this.#world.scheduler.random.chance(this.#world.weather.storeFailure)) {
      throw new PerdureError("STO0001", "the simulated medium failed to read");
    }
    return value;
  }

  async *#scan<T>(scan: () => AsyncIterable<T>): AsyncIterable<T> {
    await this.#way();
    const rows: T[] = [];
    for await (const row of scan()) rows.push(row);
    await this.#way();
    yield* rows;
  }

  /** One way to the store or back; never resolves for a leader that crashed meanwhile. */
  #way(): Promise<void> {
    const { scheduler, settings } = this.#world;
    return new Promise((resolve) => {
      scheduler.after(scheduler.latency(settings.readMs), () => {
        if (this.#user.alive) resolve();
      });
    });
  }
}
