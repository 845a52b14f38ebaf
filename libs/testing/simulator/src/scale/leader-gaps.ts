/** Samples which partitions have a working leader, and collects how long each was without one. */

/** A worker as the sampling sees it. */
export interface SampledWorker {
  readonly body: { readonly name: string; readonly paused: boolean };
  readonly leading: readonly number[];
}

/** One partition without a leader, in virtual milliseconds. */
export interface LeaderGap {
  readonly partition: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

export class LeaderGaps {
  readonly #partitionCount: number;
  /** The time since which a partition has no leader; undefined while it has one. */
  readonly #since: (number | undefined)[];
  #open: number;
  #fewest = 0;
  #most = 0;
  readonly closed: LeaderGap[] = [];

  constructor(partitionCount: number, nowMs: number) {
    this.#partitionCount = partitionCount;
    this.#since = Array.from({ length: partitionCount }, () => nowMs);
    this.#open = partitionCount;
  }

  /** Number of partitions without a leader at the last sample. */
  get open(): number {
    return this.#open;
  }

  /** Whether at the last sample every partition had a leader, and no worker more than one partition more than another. */
  get isBalanced(): boolean {
    return this.#open === 0 && this.#most - this.#fewest <= 1;
  }

  /** A paused process leads nothing: whatever it believes, it performs nothing. */
  sample(workers: readonly SampledWorker[], nowMs: number): void {
    const hasLeader = new Uint8Array(this.#partitionCount);
    this.#fewest = Number.POSITIVE_INFINITY;
    this.#most = 0;
    for (const { body, leading } of workers) {
      const partitions = body.paused ? [] : leading;
      for (const partition of partitions) hasLeader[partition] = 1;
      this.#fewest = Math.min(this.#fewest, partitions.length);
      this.#most = Math.max(this.#most, partitions.length);
    }
    this.#open = 0;
    for (let partition = 0; partition < this.#partitionCount; partition++) {
      const fromMs = this.#since[partition];
      if (hasLeader[partition] === 0) {
        this.#since[partition] = fromMs ?? nowMs;
        this.#open++;
      } else if (fromMs !== undefined) {
        this.closed.push({ partition, fromMs, untilMs: nowMs });
        this.#since[partition] = undefined;
      }
    }
  }
}
