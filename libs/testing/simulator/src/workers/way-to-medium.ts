/**
 * The medium as one worker reaches it. Requests and responses get lost, come late or twice. Like the real driver, this repeats requests
 * until the timeout, so a commit may have landed when its sender gets a failure, or an outcome that it was fenced.
 */
import { PerdureError, type TimerHandle } from "@perdure/base";
import {
  type AsyncPartitionStore,
  type CommitOutcome,
  type HeldLease,
  type LeaseOutcome,
  type Leases,
  type Membership,
  type PartitionBatch,
  type PartitionStore,
  requireLead,
} from "@perdure/storage";
import { behindNetwork } from "@perdure/storage/testing/behind-network";
import type { SimulatedWorld } from "../world.js";
import type { SimulatedProcess } from "./body.js";
import { MARK, type Medium } from "./medium.js";
import type { LeasePace } from "./settings.js";

/** Timeout of reading rows, after which the store counts as failed. */
const TIMEOUT_MS = 5_000;
/** A request without response is repeated after this time. */
const SILENCE_MS = 300;
const AGAIN_MS_MAX = 250;
/** Maximum delay with which an abandoned request may still arrive. */
const DELAY_MS_MAX = 2_000;

export class WayToMedium {
  readonly #world: SimulatedWorld;
  readonly #body: SimulatedProcess;
  readonly #medium: Medium;
  readonly #pace: LeasePace;
  /** Epochs of the last claims; a read counts only under the present one. */
  readonly #epochs = new Map<number, number>();
  /** Whether nothing reaches the medium. */
  isCut = false;

  constructor(world: SimulatedWorld, body: SimulatedProcess, medium: Medium, pace: LeasePace) {
    this.#world = world;
    this.#body = body;
    this.#medium = medium;
    this.#pace = pace;
  }

  leases(): Leases {
    const { name } = this.#body;
    const pace = this.#pace;
    const held = async (call: () => Promise<LeaseOutcome[]>): Promise<readonly LeaseOutcome[]> => {
      const { leaseMs, marginMs } = pace;
      const sentAtMs = this.#body.clock.monotonicMs();
      const outcomes = await this.#request(call, leaseMs);
      return outcomes.map((outcome): LeaseOutcome => {
        if (outcome.kind !== "held") return outcome;
        const lease: HeldLease = { ...outcome.lease, endsAtMs: sentAtMs + leaseMs - marginMs };
        return { kind: "held", lease };
      });
    };
    return {
      acquire: (partitions) => held(() => this.#medium.acquire(name, partitions)),
      renew: (partitions) => held(() => this.#medium.renew(name, partitions)),
      release: (partitions) => this.#request(() => this.#medium.release(name, partitions), pace.leaseMs, false),
      holders: (partitions) => this.#request(() => this.#medium.holders(partitions), pace.leaseMs),
    };
  }

  membership(): Membership {
    const pace = this.#pace;
    return {
      beat: (self) => this.#request(() => this.#medium.beat(self), pace.leaseMs),
      leave: (id) => this.#request(() => this.#medium.leave(id), pace.leaseMs),
    };
  }

  store(): AsyncPartitionStore {
    const { name } = this.#body;
    const medium = this.#medium;
    const near = (): AsyncPartitionStore => behindNetwork(medium.rows, (task) => task());
    const read = <T>(partition: number, from: (rows: PartitionStore) => Promise<T>): Promise<T> => this.#read(partition, from);
    const scan = <T>(partition: number, from: (rows: PartitionStore) => AsyncIterable<T>): AsyncIterable<T> =>
      this.#scan(partition, from);
    return {
      capabilities: { sharedBatch: false, syncReads: false },
      fetch: (partition, keys) => read(partition, () => near().fetch(partition, keys)),
      claim: async (partition) => {
        const epoch = await this.#request(() => medium.claim(name, partition));
        this.#epochs.set(partition, epoch);
        return epoch;
      },
      commit: (batches) => this.#commit(batches),
      readJournal: (partition, id, length) => read(partition, (rows) => rows.readJournal(partition, id, length)),
      stateOf: (partition, service, key) => read(partition, (rows) => rows.stateOf(partition, service, key)),
      promisesOf: (partition, service, key) => read(partition, (rows) => rows.promisesOf(partition, service, key)),
      timers: (partition, group, fromMs, limit) => read(partition, (rows) => rows.timers(partition, group, fromMs, limit)),
      outbox: (partition, afterSeq, limit) => read(partition, (rows) => rows.outbox(partition, afterSeq, limit)),
      flow: (partition) => read(partition, (rows) => rows.flow(partition)),
      events: (partition, id) => read(partition, (rows) => rows.events(partition, id)),
      recoverable: (partition, counted) => scan(partition, (rows) => rows.recoverable(partition, counted)),
      unfinished: (partition, status) => scan(partition, (rows) => rows.unfinished(partition, status)),
      completed: (partition) => scan(partition, (rows) => rows.completed(partition)),
      scanState: (partition, service, where) => scan(partition, (rows) => rows.scanState(partition, service, where)),
      scanPromises: (partition) => scan(partition, (rows) => rows.scanPromises(partition)),
      scanLocks: (partition) => scan(partition, (rows) => rows.scanLocks(partition)),
      scanInboxes: (partition) => scan(partition, (rows) => rows.scanInboxes(partition)),
      async [Symbol.asyncDispose]() {}, // Does nothing, because the world owns the data.
    };
  }

  /** A commit carries its number: however often it arrives, it is carried out once. */
  #commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const { scheduler, weather } = this.#world;
    const crash = scheduler.random.chance(weather.crashAtCommit)
      ? scheduler.random.pick(["before", "after"] as const)
      : undefined;
    let landed: CommitOutcome | undefined;
    return this.#request(async () => {
      if (landed !== undefined) return landed;
      if (crash === "before") this.#body.end("before its commit was durable");
      if (!this.#body.alive && scheduler.random.chance(0.5)) return { kind: "committed" }; // The request is lost with its sender.
      const outcome = await this.#medium.commit(this.#body.name, batches);
      if (outcome.kind === "committed") landed = outcome;
      if (crash === "after") this.#body.end("after its commit was durable");
      return outcome;
    });
  }

  /** Reads rows with the mark and epoch of the partition, as the real driver does; the rows count only under our claim. */
  #read<T>(partition: number, from: (rows: PartitionStore) => Promise<T>): Promise<T> {
    const epoch = this.#epochs.get(partition);
    return this.#request(async () => {
      const result = await from(this.#medium.rows);
      if (epoch !== undefined) requireLead(partition, { mark: MARK, epoch }, this.#medium.leadOf(partition));
      return result;
    });
  }

  async *#scan<T>(partition: number, from: (rows: PartitionStore) => AsyncIterable<T>): AsyncIterable<T> {
    yield* await this.#read(partition, async (store) => {
      const rows: T[] = [];
      for await (const row of from(store)) rows.push(row);
      return rows;
    });
  }

  /**
   * Repeats the request until there is a response, or rejects with STO0001 at the timeout. Never settles for a process that has ended.
   */
  #request<T>(carryOut: () => Promise<T>, timeoutMs = TIMEOUT_MS, canBeDelayed = true): Promise<T> {
    const { clock } = this.#body;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    const { scheduler } = this.#world;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let silence: TimerHandle | undefined;
      const over = (say: () => void): void => {
        isOver = true;
        silence?.cancel();
        say();
      };
      const attempt = (): void => {
        if (isOver) return;
        this.#send(carryOut, canBeDelayed, (answer) => {
          if (isOver) return;
          answer.then(
            (value) => over(() => resolve(value)),
            (cause: unknown) => over(() => reject(cause)),
          );
        });
        silence = clock.setTimer(SILENCE_MS, () => {
          if (isOver) return;
          const waitMs = AGAIN_MS_MAX * scheduler.random.float();
          if (clock.monotonicMs() + waitMs > deadlineMs)
            return over(() => reject(new PerdureError("STO0001", "the simulated medium gave no answer")));
          clock.setTimer(waitMs, attempt);
        });
      };
      attempt();
    });
  }

  /** Sends one request and passes on its response; either may be lost. */
  #send<T>(carryOut: () => Promise<T>, canBeDelayed: boolean, onAnswer: (answer: Promise<T>) => void): void {
    const { scheduler, settings } = this.#world;
    const { random } = scheduler;
    const there = async (): Promise<void> => {
      if (this.#isLost()) {
        // The request was abandoned, and may still be in a buffer on its way.
        if (canBeDelayed && random.chance(0.1))
          scheduler.after(DELAY_MS_MAX * random.float(), () => void this.#runDelayed(carryOut));
        return;
      }
      const answer = carryOut();
      await answer.catch(() => undefined);
      const back = scheduler.latency(settings.readMs);
      const isLost = this.#isLost();
      scheduler.after(back, () => {
        if (!isLost && !this.isCut) this.#body.enter(() => onAnswer(answer));
      });
    };
    scheduler.after(scheduler.latency(settings.commitMs), () => void there());
  }

  async #runDelayed<T>(carryOut: () => Promise<T>): Promise<void> {
    if (this.#medium.isDown) return;
    // The response is dropped, and so is an error.
    await carryOut().catch(() => undefined);
  }

  #isLost(): boolean {
    const { scheduler, weather } = this.#world;
    return this.isCut || this.#medium.isDown || scheduler.random.chance(weather.storeFailure);
  }
}
