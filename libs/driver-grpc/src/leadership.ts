/** Why: gateways and workers must know who leads a partition, and believe the newest claim whatever order the news come in. */
import type { LeaseHolder, Member } from "@perdure/store";

export interface LeaderClaim {
  readonly partition: number;
  readonly epoch: number;
  /** Where the leader answers, `host:port`. */
  readonly address: string;
}

export interface DirectoryUpdate {
  readonly partitionCount: number;
  readonly leaders: readonly LeaderClaim[];
  /** All workers that are alive, leading or not. */
  readonly workers: readonly string[];
}

/** The news in what a worker saw when it looked: who lives, and who holds each partition's lease (`holders[p]`). */
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

/** What is known of leaders. Of two claims to a partition the one of the higher epoch counts. */
export class LeaderDirectory {
  readonly #claims = new Map<number, LeaderClaim>();
  readonly #listeners = new Set<() => void>();
  #partitionCount = 0;
  #workers: readonly string[] = [];

  /** 0 until the first news. */
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
