/** Determines which worker leads each partition. The claim with the highest epoch wins, in whatever order claims arrive. */
import type { LeaseHolder, Member } from "@perdure/storage";

interface LeaderClaim {
  readonly partition: number;
  readonly epoch: number;
  /** Address of the leader, `host:port`. */
  readonly address: string;
}

export interface DirectoryUpdate {
  readonly partitionCount: number;
  readonly leaders: readonly LeaderClaim[];
  /** Addresses of all live workers, with or without partitions. */
  readonly workers: readonly string[];
}

/**
 * The directory update for one poll of the store: `members` are the live workers, `holders[p]` is the holder of the lease of partition p.
 */
export function directoryUpdateOf(
  partitionCount: number,
  members: readonly Member[],
  holders: readonly (LeaseHolder | undefined)[],
): DirectoryUpdate {
  const addresses = new Map(members.map(({ id, address }) => [id, address]));
  const leaders: LeaderClaim[] = [];
  for (const [partition, holder] of holders.entries()) {
    const address = holder === undefined ? undefined : addresses.get(holder.worker);
    if (holder !== undefined && address !== undefined) leaders.push({ partition, epoch: holder.epoch, address });
  }
  return { partitionCount, leaders, workers: members.map(({ address }) => address) };
}

/** Leaders by partition. Of two claims to a partition the one with the higher epoch counts. */
export class LeaderDirectory {
  readonly #claims = new Map<number, LeaderClaim>();
  readonly #listeners = new Set<() => void>();
  #partitionCount = 0;
  #workers: readonly string[] = [];

  /** 0 before the first update. */
  get partitionCount(): number {
    return this.#partitionCount;
  }

  get workers(): readonly string[] {
    return this.#workers;
  }

  claims(): readonly LeaderClaim[] {
    return [...this.#claims.values()];
  }

  leaderOf(partition: number): LeaderClaim | undefined {
    return this.#claims.get(partition);
  }

  learn(update: DirectoryUpdate): void {
    let isNew = this.#partitionCount !== update.partitionCount || update.workers.join() !== this.#workers.join();
    this.#partitionCount = update.partitionCount;
    this.#workers = update.workers;
    for (const claim of update.leaders) {
      const existing = this.#claims.get(claim.partition);
      if (existing !== undefined && existing.epoch >= claim.epoch) continue;
      this.#claims.set(claim.partition, claim);
      isNew = true;
    }
    if (isNew) for (const listener of this.#listeners) listener();
  }

  /** Calls back after each change; returns how to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
