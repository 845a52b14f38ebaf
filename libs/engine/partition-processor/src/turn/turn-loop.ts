/**
 * The loop of a processor:
 *
 *     mailbox ▸ load ▸ apply ▸ commit ▸ perform
 *
 * A turn loads what the queued messages need, applies them in order, and hands everything they changed to the store as one batch. The
 * actions of a batch are performed when it is durable. While one batch is being written further turns gather the next: group commit.
 * A turn takes all messages that arrived, up to limits that keep sockets and timers from starving.
 */
import type { CommitOutcome } from "@perdure/storage";
import { PENDING_BYTES_MAX, PENDING_MUTATIONS_MAX, TURN_CLOCK_COMMANDS, TURN_COMMANDS_MAX, TURN_MS_MAX } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import { fetchForTurn } from "./load.js";
import { bytesOf } from "./mailbox-message.js";
import { perform } from "./perform.js";
import { markDurable, type ReadyBatch, takeReadyBatch } from "./ready-batch.js";

export class TurnLoop {
  readonly #group: PartitionGroup;
  #isScheduled = false;
  /** Rows for the next turn are being fetched. */
  #isLoading = false;
  #isCommitting = false;
  /** Names of the rows that were fetched for the next turn. */
  readonly #requestedRows = new Set<string>();
  /** Called between two commits, when nothing is being written. */
  #idle: (() => void)[] = [];
  readonly #run = (): void => this.turn();

  constructor(group: PartitionGroup) {
    this.#group = group;
  }

  get isCommitting(): boolean {
    return this.#isCommitting;
  }

  /** Schedules a turn unless one is scheduled. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { soon } = this.#group.ports;
    soon(this.#run);
  }

  /** Load ▸ apply ▸ commit. The turn runs again when rows are loaded, and when messages are left. */
  turn(): void {
    this.#isScheduled = false;
    const { isClosed, mailbox } = this.#group;
    if (isClosed || this.#isLoading) return;
    const fetches = fetchForTurn(this.#group, this.#requestedRows);
    if (fetches.length > 0) return void this.#load(fetches);
    const isBatchFull = this.#apply();
    this.commit();
    if (!mailbox.isEmpty && !(this.#isCommitting && isBatchFull)) this.schedule();
  }

  async #load(fetches: readonly Promise<void>[]): Promise<void> {
    this.#isLoading = true;
    try {
      await Promise.all(fetches);
    } catch (cause) {
      this.#isLoading = false;
      return this.#group.fail(cause);
    }
    this.#isLoading = false;
    this.turn();
  }

  /** Applies queued messages until a limit is reached; returns whether as much is applied as one batch should hold. */
  #apply(): boolean {
    const { ports, leaders, mailbox, counters, applier } = this.#group;
    const { clock } = ports;
    const nowMs = clock.nowMs();
    const endMs = clock.monotonicMs() + TURN_MS_MAX;
    let pendingBytes = 0;
    for (const { view } of leaders.values()) {
      view.nowMs = nowMs;
      pendingBytes += view.mutationBytes;
    }
    let hasManyMutations = this.#hasManyMutations();
    // One message may carry many commands.
    const commandsMax = counters.commands + TURN_COMMANDS_MAX;
    let checkedAt = counters.commands;
    for (let count = 0; count < TURN_COMMANDS_MAX && pendingBytes < PENDING_BYTES_MAX && !hasManyMutations; count++) {
      if (counters.commands >= commandsMax) break;
      const message = mailbox.shift();
      if (message === undefined) break;
      pendingBytes += bytesOf(message);
      applier.apply(message);
      if (count % TURN_CLOCK_COMMANDS !== TURN_CLOCK_COMMANDS - 1 && counters.commands - checkedAt < TURN_CLOCK_COMMANDS)
        continue;
      checkedAt = counters.commands;
      hasManyMutations = this.#hasManyMutations();
      if (clock.monotonicMs() >= endMs) break;
    }
    return pendingBytes >= PENDING_BYTES_MAX || hasManyMutations;
  }

  #hasManyMutations(): boolean {
    let count = 0;
    for (const { view } of this.#group.leaders.values()) count += view.mutationCount;
    return count >= PENDING_MUTATIONS_MAX;
  }

  /** Writes what was applied, and performs its actions then; after the write that is under way if there is one. */
  commit(): void {
    if (this.#isCommitting) return;
    const ready = takeReadyBatch(this.#group);
    if (ready.batches.length > 0) return void this.#commitAndPerform(ready);
    if (ready.actions.length > 0) perform(this.#group, ready.actions);
    this.becameIdle();
  }

  async #commitAndPerform(ready: ReadyBatch): Promise<void> {
    const { ports, counters, mailbox } = this.#group;
    const { store, clock, metrics, largeGarbage } = ports;
    this.#isCommitting = true;
    counters.commits++;
    counters.mutations += ready.mutationCount;
    const sinceMs = clock.monotonicMs();
    let outcome: CommitOutcome;
    try {
      outcome = await store.commit(ready.batches);
    } catch (cause) {
      this.#isCommitting = false;
      metrics?.committed("failed", clock.monotonicMs() - sinceMs);
      return this.#group.fail(cause);
    }
    this.#isCommitting = false;
    metrics?.committed(outcome.kind === "fenced" ? "fenced" : "written", clock.monotonicMs() - sinceMs);
    if (this.#group.isClosed) return this.becameIdle();
    if (outcome.kind === "fenced") return this.#group.fenced(outcome.partition);
    markDurable(ready);
    perform(this.#group, ready.actions);
    if (ready.largeBytes > 0) largeGarbage?.(ready.largeBytes);
    this.becameIdle(); // With writes of other partitions there may never be a moment between two commits.
    this.commit();
    if (!mailbox.isEmpty) this.schedule();
  }

  // ── moments without a commit ───────────────────────────────────────────────────────────────────

  /** Resolves at the end of the commit under way, or of the next turn when none is. */
  nextIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      if (!this.#isCommitting) this.schedule();
    });
  }

  /** Resolves when nothing is being written. */
  async untilIdle(): Promise<void> {
    while (this.#isCommitting) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Continues what waits for the end of a commit. */
  becameIdle(): void {
    if (this.#idle.length === 0 || this.#isCommitting) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
