/**
 * Writes applied mutations in batches, one after the other, and performs their actions only when they are durable. While one batch is
 * being written the next gathers: group commit.
 */
import type { Clock } from "@perdure/base";
import type { AsyncPartitionStore, PartitionBatch, PartitionStore } from "@perdure/storage";
import type { LeaderPartition, LeaderPartitionTable } from "../leader-partition.js";
import { LARGE_PAYLOAD_BYTES } from "../limits.js";
import type { ProcessorCounters, ProcessorMetrics } from "../ports.js";
import type { PostCommitAction } from "./mailbox-message.js";

export interface GroupCommitPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly leaderPartitions: LeaderPartitionTable;
  readonly counters: ProcessorCounters;
  readonly metrics: ProcessorMetrics | undefined;
  readonly clock: Clock;
  /** As `ProcessorPorts.largeGarbage`. */
  readonly largeGarbage: ((bytes: number) => void) | undefined;
  readonly isClosed: () => boolean;
  /** Performs the actions of a batch, now that it is durable. */
  readonly perform: (actions: readonly PostCommitAction[]) => void;
  /** A batch was written, and the write of the next has begun if there is one. */
  readonly written: () => void;
  /** A caller waits for a commit, and none is under way. */
  readonly requested: () => void;
  readonly fenced: (partition: number) => void;
  readonly failed: (cause: unknown) => void;
}

export class GroupCommit {
  readonly #ports: GroupCommitPorts;
  #isWriting = false;
  #actions: PostCommitAction[] = [];
  /** Called between two commits, when nothing is being written. */
  #idle: (() => void)[] = [];

  constructor(ports: GroupCommitPorts) {
    this.#ports = ports;
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Runs the action when everything applied so far is durable; at once when it already is. */
  afterCommit(action: PostCommitAction): void {
    this.#actions.push(action);
  }

  /** Writes what was applied, or does so after the write that is under way. */
  write(): void {
    if (!this.#isWriting) this.#write();
  }

  whenIdle(callback: () => void): void {
    this.#idle.push(callback);
    if (!this.#isWriting) this.#ports.requested();
  }

  /** Resolves when nothing is being written. */
  async untilIdle(): Promise<void> {
    while (this.#isWriting) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** From now on nothing is written or performed. */
  drop(): void {
    this.#actions = [];
  }

  /** Runs the callbacks that wait for the end of commits. */
  becameIdle(): void {
    if (this.#idle.length === 0 || this.#isWriting) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const callback of idle) callback();
  }

  #write(): void {
    const { store, leaderPartitions: all, counters, metrics, clock, perform } = this.#ports;
    const batches: PartitionBatch[] = [];
    const sealed: LeaderPartition[] = [];
    let count = 0;
    let largeBytes = 0;
    for (const leader of all.values()) {
      if (leader.view.mutationCount === 0) continue;
      const mutations = leader.view.seal();
      count += mutations.length;
      for (const each of mutations) {
        if (each.kind !== "appendEntry") continue;
        metrics?.appended(each.entry);
        // Outcomes and states are views of the bytes of their journal entries.
        if (each.entry.body.length >= LARGE_PAYLOAD_BYTES) largeBytes += each.entry.body.length;
      }
      batches.push({ partition: leader.view.partition, epoch: leader.epoch, mutations });
      sealed.push(leader);
    }
    const actions = this.#actions;
    if (batches.length === 0) {
      if (actions.length > 0) {
        this.#actions = [];
        perform(actions);
      }
      return this.becameIdle();
    }
    this.#actions = [];
    this.#isWriting = true;
    counters.commits++;
    counters.mutations += count;
    const sinceMs = clock.monotonicMs();
    store.commit(batches).then(
      (outcome) => {
        this.#isWriting = false;
        metrics?.committed(outcome.kind === "fenced" ? "fenced" : "written", clock.monotonicMs() - sinceMs);
        if (this.#ports.isClosed()) return this.becameIdle();
        if (outcome.kind === "fenced") return this.#ports.fenced(outcome.partition);
        for (const [index, leader] of sealed.entries()) {
          leader.cache?.applyDurable((batches[index] as PartitionBatch).mutations);
          leader.view.markDurable();
        }
        perform(actions);
        if (largeBytes > 0) this.#ports.largeGarbage?.(largeBytes);
        this.becameIdle(); // With writes of other partitions there may never be a moment between two commits.
        this.write();
        this.#ports.written();
      },
      (cause: unknown) => {
        this.#isWriting = false;
        metrics?.committed("failed", clock.monotonicMs() - sinceMs);
        this.#ports.failed(cause);
      },
    );
  }
}
