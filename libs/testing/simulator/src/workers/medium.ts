/**
 * The true state of the medium that all workers share: rows, epochs, leases, the list of members. It carries out requests one after the
 * other, and checks each: the writer must be the latest leader, and no epoch may have two leaders.
 */
import { PerdureError } from "@perdure/base";
import {
  type CommitOutcome,
  type HeldLease,
  KvPartitionStore,
  type LeaseHolder,
  type LeaseOutcome,
  type Member,
  MemoryKeyValue,
  type PartitionBatch,
  type PartitionStore,
  type StoredLead,
} from "@perdure/storage";
import type { SimulatedWorld } from "../world.js";
import type { LeasePace } from "./settings.js";

/** Mark of the one data set of a world. */
export const MARK = "the mark";

interface StoredLease {
  readonly worker: string;
  endsAtMs: number;
}

export interface MediumEvents {
  claimed(partition: number, epoch: number, worker: string): void;
  applied(batches: readonly PartitionBatch[]): void;
}

export class Medium {
  readonly #world: SimulatedWorld;
  readonly #store: PartitionStore;
  readonly #pace: LeasePace;
  readonly #events: MediumEvents;
  readonly #leases = new Map<number, StoredLease>();
  readonly #epochs = new Map<number, number>();
  readonly #members = new Map<string, { readonly member: Member; readonly untilMs: number }>();
  /** Whether no request gets a response. */
  isDown = false;
  /** Another, empty data set is in place of this one, until the data are restored: the expected mark is missing. */
  #isEmptied = false;
  /** Read while the data are lost. */
  readonly #nothing: PartitionStore = new KvPartitionStore(new MemoryKeyValue());

  constructor(world: SimulatedWorld, store: PartitionStore, pace: LeasePace, events: MediumEvents) {
    this.#world = world;
    this.#store = store;
    this.#pace = pace;
    this.#events = events;
  }

  /** Whether the worker holds the lease at this moment. */
  isHeldBy(worker: string, partition: number): boolean {
    return this.#leaseOf(partition)?.worker === worker;
  }

  /** The rows that a read returns at this moment. */
  get rows(): PartitionStore {
    return this.#isEmptied ? this.#nothing : this.#store;
  }

  /** Whether the store rejects workers because the expected mark is missing. */
  get isForeign(): boolean {
    return this.#isEmptied;
  }

  /** The mark and epoch that a read of the partition returns. */
  leadOf(partition: number): StoredLead {
    if (this.isForeign) return { mark: undefined, epoch: undefined };
    return { mark: MARK, epoch: this.#epochOf(partition) };
  }

  get isEmptied(): boolean {
    return this.#isEmptied;
  }

  empty(): void {
    this.#isEmptied = true;
    this.#members.clear();
  }

  /** Restores rows, epochs and leases. */
  bringBack(): void {
    this.#isEmptied = false;
    this.#members.clear();
  }

  async acquire(worker: string, partitions: readonly number[]): Promise<LeaseOutcome[]> {
    if (this.isForeign) return partitions.map(foreign);
    const outcomes: LeaseOutcome[] = [];
    for (const partition of partitions) {
      const lease = this.#leaseOf(partition);
      if (lease !== undefined && lease.worker !== worker) outcomes.push(this.#occupied(partition, lease));
      else {
        if (lease === undefined) await this.#raise(partition);
        outcomes.push(this.#hold(worker, partition));
      }
    }
    return outcomes;
  }

  async renew(worker: string, partitions: readonly number[]): Promise<LeaseOutcome[]> {
    if (this.isForeign) return partitions.map(foreign);
    return partitions.map((partition) => {
      const lease = this.#leaseOf(partition);
      if (lease?.worker !== worker) return this.#occupied(partition, lease);
      return this.#hold(worker, partition);
    });
  }

  async release(worker: string, partitions: readonly number[]): Promise<void> {
    if (this.isForeign) return;
    for (const partition of partitions) {
      if (this.#leaseOf(partition)?.worker !== worker) continue;
      this.#leases.delete(partition);
      await this.#raise(partition);
    }
  }

  async holders(partitions: readonly number[]): Promise<(LeaseHolder | undefined)[]> {
    if (this.isForeign) return partitions.map(() => undefined);
    return partitions.map((partition) => {
      const lease = this.#leaseOf(partition);
      if (lease === undefined) return undefined;
      return { worker: lease.worker, epoch: this.#epochOf(partition), leftMs: lease.endsAtMs - this.#nowMs() };
    });
  }

  async beat(member: Member): Promise<Member[]> {
    const nowMs = this.#nowMs();
    this.#members.set(member.id, { member, untilMs: nowMs + this.#pace.memberMs });
    const alive = [...this.#members.values()].filter(({ untilMs }) => untilMs > nowMs).map((each) => each.member);
    return alive.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async leave(id: string): Promise<void> {
    this.#members.delete(id);
  }

  async claim(worker: string, partition: number): Promise<number> {
    if (this.isForeign) throw new PerdureError("STO0005", "the partition does not carry the mark of the data set");
    if (!this.isHeldBy(worker, partition)) throw new PerdureError("STO0002", "another worker holds the lease");
    const epoch = await this.#raise(partition);
    this.#events.claimed(partition, epoch, worker);
    return epoch;
  }

  async commit(worker: string, batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const [first] = batches;
    if (this.isForeign && first !== undefined) return { kind: "fenced", partition: first.partition, by: 0 };
    const outcome = await this.rows.commit(batches);
    if (outcome.kind !== "committed") return outcome;
    for (const { partition, epoch } of batches) {
      this.#world.findings.require(
        epoch === this.#epochOf(partition),
        "a deposed leader writes nothing",
        () => `${worker} wrote to p${partition} under epoch ${epoch}, which had risen to ${this.#epochOf(partition)}`,
      );
    }
    this.#events.applied(batches);
    return outcome;
  }

  #epochOf(partition: number): number {
    return this.#epochs.get(partition) ?? 0;
  }

  async #raise(partition: number): Promise<number> {
    const epoch = await this.rows.claim(partition);
    this.#world.findings.require(
      epoch > this.#epochOf(partition),
      "an epoch is given out once",
      () => `p${partition} had ${this.#epochOf(partition)} before ${epoch}`,
    );
    this.#epochs.set(partition, epoch);
    return epoch;
  }

  /** Returns the lease unless it has ended. */
  #leaseOf(partition: number): StoredLease | undefined {
    const lease = this.#leases.get(partition);
    return lease !== undefined && lease.endsAtMs > this.#nowMs() ? lease : undefined;
  }

  #hold(worker: string, partition: number): LeaseOutcome {
    const endsAtMs = this.#nowMs() + this.#pace.leaseMs;
    this.#leases.set(partition, { worker, endsAtMs });
    const lease: HeldLease = { partition, epoch: this.#epochOf(partition), endsAtMs };
    return { kind: "held", lease };
  }

  #occupied(partition: number, lease: StoredLease | undefined): LeaseOutcome {
    return { kind: "taken", partition, by: lease?.worker ?? "", forMs: Math.max(0, (lease?.endsAtMs ?? 0) - this.#nowMs()) };
  }

  #nowMs(): number {
    return this.#world.scheduler.clock.monotonicMs();
  }
}

/** The outcome for the lease of a partition without the expected mark. */
function foreign(partition: number): LeaseOutcome {
  return { kind: "foreign", partition, mark: undefined };
}
