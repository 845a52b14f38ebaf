/**
 * Leads one or more partitions that share a store: drives their pure core from the mailbox to the performed effect.
 *
 *     mailbox ▸ load ▸ apply ▸ commit ▸ perform
 *
 * Commands are applied in the order of arrival, each to the result of the ones before. While one batch is being written the next
 * gathers, so the load determines the size of groups and no command waits for a timer. Effects are performed only when their batch is
 * durable.
 *
 * `turn/turn-loop.ts` is this loop, and `PartitionGroup` the data that it works on. This class is what other packages use.
 */
import type { InvocationId, TimerHandle } from "@perdure/base";
import { type FlowLimits, type FlowRows, type FlowWait, waitOf } from "@perdure/flow-control";
import type { Invoker } from "@perdure/invoker";
import type { CommandAnswer, Invocation, PartitionCommand } from "@perdure/state-machine";
import type { ArchivedGeneration, ArchiveRecord, Population } from "@perdure/storage";
import type { Waiters } from "./callers/waiters.js";
import { flowLimitsOf, flowRowsOf } from "./flow/flow-rows.js";
import { PartitionGroup } from "./partition-group.js";
import type { ProcessorCounters, ProcessorOptions, ProcessorPorts } from "./ports.js";
import { takeOver } from "./take-over.js";
import type { AnswerReceiver } from "./turn/mailbox-message.js";

export class Processor<I extends Invoker = Invoker> implements AsyncDisposable {
  readonly waiters: Waiters;
  readonly counters: ProcessorCounters;
  /** Runs the attempts of the partitions. */
  readonly invoker: I;
  readonly #group: PartitionGroup<I>;

  private constructor(group: PartitionGroup<I>) {
    this.#group = group;
    this.waiters = group.waiters;
    this.counters = group.counters;
    this.invoker = group.invoker;
  }

  /**
   * Claims the leadership of the partitions, starts what was running and arms what is stored. When `signal` aborts meanwhile, it stops
   * at once, as by `abandon`, and rejects with STO0002. Nothing of it works on when it rejects.
   */
  static async start<I extends Invoker>(
    ports: ProcessorPorts<I>,
    options: ProcessorOptions,
    signal?: AbortSignal,
  ): Promise<Processor<I>> {
    const group = new PartitionGroup(ports, options);
    const abandon = (): void => group.abandon("leadership was lost during its start");
    signal?.addEventListener("abort", abandon);
    try {
      await takeOver(group);
    } catch (cause) {
      // Runs that it has begun would call endpoints, and submit to stored rows that change, beside the next leader.
      group.abandon("the partitions could not be taken over");
      throw cause;
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
    return new Processor(group);
  }

  // ── submission ─────────────────────────────────────────────────────────────────────────────────

  /** Whether new work should be refused for now. */
  get isOverloaded(): boolean {
    return this.#group.mailbox.isFull;
  }

  /** Whether no caller, command, write, message to another partition or gated start is pending. */
  get isQuiet(): boolean {
    const { isClosed, leaders, mailbox, turns } = this.#group;
    if (isClosed) return true;
    if (!this.waiters.isEmpty || !mailbox.isEmpty || turns.isCommitting) return false;
    for (const { outbox, flow } of leaders.values()) {
      if (outbox.hasPending) return false;
      // Entries held by a paused queue wait for an operator, whose command starts the processor again.
      for (const { state } of flow.scheduler.entries()) if (state !== "held") return false;
    }
    return true;
  }

  /** Returns the time at which the first stored timer is due, retention timers excluded; reads the store. */
  async nextDueAtMs(): Promise<number | undefined> {
    let first: number | undefined;
    if (this.#group.isClosed) return first;
    for (const { view } of this.#group.leaders.values()) {
      const [timer] = await this.#group.ports.store.timers(view.partition, "precise", 0, 1);
      if (timer !== undefined && timer.dueAtMs < (first ?? Number.POSITIVE_INFINITY)) first = timer.dueAtMs;
    }
    return first;
  }

  /** The epoch under which the invocation's partition is led here; undefined when it is not. */
  epochOf(id: InvocationId): number | undefined {
    return this.#group.isClosed ? undefined : this.#group.leaders.of(id)?.epoch;
  }

  leads(id: InvocationId): boolean {
    return !this.#group.isClosed && this.#group.leaders.of(id) !== undefined;
  }

  /**
   * Submits a command. Returns false when this processor does not lead the invocation's partition or has stopped; `receiver` then never
   * gets an answer. Nor does it when the processor stops before the command is durable: register with `waiters` to be notified of that.
   */
  submit(command: PartitionCommand, receiver: AnswerReceiver<CommandAnswer> | undefined): boolean {
    if (!this.#takes(command.id)) return false;
    this.#group.post({ kind: "command", command, receiver });
    return true;
  }

  /**
   * Delivers a message of another partition. `delivered` is called when it, or an earlier delivery of it, is durable. With `after`, the
   * message is accepted only when that earlier one of its producer was; otherwise `undelivered` is called, as it is when the partition
   * stops or moves to another leader before the message is durable. Exactly one of the two is called.
   */
  deliver(
    command: PartitionCommand,
    producer: string,
    seq: number,
    delivered: () => void,
    after?: number,
    undelivered: () => void = (): void => undefined,
  ): boolean {
    if (!this.#takes(command.id)) return false;
    const message = { kind: "delivery", command, producer, seq, after, delivered, undelivered } as const;
    this.#group.deliveries.add(message);
    this.#group.post(message);
    return true;
  }

  inspect(id: InvocationId, receiver: AnswerReceiver<Invocation | undefined>): boolean {
    if (!this.#takes(id)) return false;
    this.#group.post({ kind: "inspect", id, receiver });
    return true;
  }

  /** Rows of flow control of a partition led here; undefined: it is led elsewhere. */
  async flowRows(partition: number): Promise<FlowRows | undefined> {
    const leader = this.#group.leaders.get(partition);
    if (leader === undefined || this.#group.isClosed) return undefined;
    const { store, clock } = this.#group.ports;
    const { scheduler } = leader.flow;
    return flowRowsOf({ store, partition, scheduler, pauses: leader.view.pauses(), nowMs: clock.nowMs() });
  }

  /** The limits and buckets of a partition, which are in memory. */
  flowLimits(partition: number): FlowLimits | undefined {
    const leader = this.#group.leaders.get(partition);
    if (leader === undefined || this.#group.isClosed) return undefined;
    return flowLimitsOf(leader.flow.scheduler, this.#group.ports.clock.nowMs());
  }

  /** Adds the counts of the partitions led here to `all`. */
  addPopulation(all: Population): void {
    if (!this.#group.isClosed) for (const { view } of this.#group.leaders.values()) view.populationCounters.addTo(all);
  }

  /** Returns the reasons for which an invocation waits for a slot; undefined when it does not wait for one here. */
  flowWait(id: InvocationId): FlowWait | undefined {
    const leader = this.#group.leaders.of(id);
    return leader === undefined || this.#group.isClosed ? undefined : waitOf(leader.flow.scheduler, id);
  }

  #takes(id: InvocationId): boolean {
    if (this.#group.isClosed) return false;
    const leader = this.#group.leaders.of(id);
    return leader !== undefined && leader.stopped === undefined;
  }

  // ── archiving ──────────────────────────────────────────────────────────────────────────────────

  /** Partitions led here, each with its epoch. */
  get leaderships(): readonly { readonly partition: number; readonly epoch: number }[] {
    return this.#group.isClosed ? [] : [...this.#group.leaders.values()].map(({ partition, epoch }) => ({ partition, epoch }));
  }

  /**
   * Removes from the store what was put into the archive, unless it has changed since. Resolves with the number of removed invocations
   * when that is durable; with −1 when the processor stopped before.
   */
  async evict(partition: number, records: readonly ArchiveRecord[]): Promise<number> {
    if (this.#group.isClosed) return -1;
    return records.length === 0 ? 0 : ((await this.#group.archive?.evictLater(partition, records)) ?? 0);
  }

  /** Returns at most `limit` generations deleted here that the archive must still delete. */
  deletedGenerations(partition: number, limit: number): readonly ArchivedGeneration[] {
    return this.#group.leaders.get(partition)?.archived?.deletions.toDelete(limit) ?? [];
  }

  /** The archive has deleted these generations. */
  deletedFromArchive(partition: number, generations: readonly ArchivedGeneration[]): void {
    const { archive, leaders } = this.#group;
    const leader = leaders.get(partition);
    if (leader !== undefined) archive?.deletedFromArchive(leader, generations);
  }

  // ── shutdown ───────────────────────────────────────────────────────────────────────────────────

  /** Stops at once and writes nothing more: another worker leads the partitions. Attempts are aborted in the background. */
  abandon(reason: string): void {
    this.#group.abandon(reason);
  }

  /**
   * Hands over: running attempts may suspend or end for `attemptsMs` at most and no others begin, then it stops as by disposal. Callers
   * are served meanwhile, and the next leader runs the invocations that they submit.
   */
  async yield(attemptsMs: number): Promise<void> {
    if (!this.#group.isClosed) {
      this.#group.stopStarting();
      const { clock } = this.#group.ports;
      let bound: TimerHandle | undefined;
      const passed = new Promise<void>((resolve) => {
        bound = clock.setTimer(attemptsMs, resolve);
      });
      await Promise.race([this.invoker.finishAttempts(), passed]);
      bound?.cancel();
    }
    await this[Symbol.asyncDispose]();
  }

  /**
   * Stops leading: attempts are aborted, applied commands are written if possible, and callers get an error that they can retry
   * elsewhere.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#group.isClosed) return this.invoker[Symbol.asyncDispose]();
    const { turns } = this.#group;
    this.#group.stopStarting();
    await this.invoker[Symbol.asyncDispose]();
    turns.turn();
    await turns.untilIdle();
    this.#group.close("the server is shutting down");
  }
}
