/**
 * Drives the pure core of one or more partitions that share a store:
 *
 *     mailbox ▸ load ▸ apply ▸ commit ▸ perform
 *
 * Commands are applied in the order of arrival, each to the result of the ones before. While one batch is being written the next
 * gathers, so the load determines the size of groups and no command waits for a timer. Effects are performed only when their batch is
 * durable.
 *
 * Each step has a file: `mailbox.ts` runs turns and loads, `applier.ts` applies, `group-commit.ts` writes, `performer.ts` performs.
 * `archive-coordinator.ts` handles what left the store for the archive.
 */
import { type InvocationId, PerdureError, type TimerHandle } from "@perdure/base";
import { type FlowLimits, type FlowRows, type FlowWait, waitOf } from "@perdure/flow-control";
import type { Invoker } from "@perdure/invoker";
import type { CommandAnswer, Invocation, PartitionCommand, TimerKey } from "@perdure/state-machine";
import {
  type Archive,
  type ArchivedGeneration,
  type ArchiveRecord,
  DELETED_GENERATIONS,
  isLeadLost,
  newPopulation,
  type PartitionStore,
  type Population,
} from "@perdure/storage";
import { ArchiveCoordinator } from "./archive/archive-coordinator.js";
import { ARCHIVED_IDS } from "./archive/archived-ids.js";
import { Waiters } from "./callers/waiters.js";
import { FlowControl } from "./flow/flow-control.js";
import { flowLimitsOf, flowRowsOf } from "./flow/flow-rows.js";
import { hostOf } from "./invoker-host.js";
import { LeaderPartitionTable } from "./leader-partition.js";
import { Outbox } from "./outbox/outbox.js";
import { PendingDeliveries } from "./outbox/pending-deliveries.js";
import type { ProcessorCounters, ProcessorOptions, ProcessorPorts } from "./ports.js";
import { Timers } from "./timers.js";
import { CommandApplier } from "./turn/applier.js";
import { GroupCommit } from "./turn/group-commit.js";
import { Mailbox } from "./turn/mailbox.js";
import { type MailboxMessage, NOTHING } from "./turn/mailbox-message.js";
import { Performer } from "./turn/performer.js";
import { LiveView } from "./view/live-view.js";
import { RowCache } from "./view/row-cache.js";

export class Processor implements AsyncDisposable {
  readonly waiters = new Waiters();
  readonly counters: ProcessorCounters;
  readonly #ports: ProcessorPorts;
  readonly #options: ProcessorOptions;
  readonly #leaderPartitions: LeaderPartitionTable;
  readonly #mailbox: Mailbox;
  readonly #applier: CommandApplier;
  readonly #commits: GroupCommit;
  readonly #performer: Performer;
  readonly #archive: ArchiveCoordinator | undefined;
  readonly #deliveries = new PendingDeliveries();
  readonly #flow: FlowControl;
  readonly #invoker: Invoker;
  readonly #timers: Timers;
  #closed = false;

  private constructor(ports: ProcessorPorts, options: ProcessorOptions) {
    const { store, clock, logger, archive, metrics } = ports;
    this.counters = ports.counters ?? newCounters();
    const { waiters, counters } = this;
    this.#ports = ports;
    this.#options = options;
    this.#leaderPartitions = new LeaderPartitionTable(options.partitionCount);
    const leaderPartitions = this.#leaderPartitions;
    const isClosed = (): boolean => this.#closed;
    const failed = (cause: unknown): void => this.#fail(cause);
    const open = (message: MailboxMessage): void => this.#applier.open(message);
    this.#commits = new GroupCommit({
      store,
      leaderPartitions,
      counters,
      metrics,
      clock,
      largeGarbage: ports.largeGarbage,
      isClosed,
      perform: (actions) => this.#performer.perform(actions),
      written: () => {
        if (!this.#mailbox.isEmpty) this.#mailbox.schedule();
      },
      requested: () => this.#mailbox.schedule(),
      fenced: (partition) => this.#fenced(partition),
      failed,
    });
    const commits = this.#commits;
    this.#mailbox = new Mailbox({ leaderPartitions, clock, soon: ports.soon, isClosed, open, counters, commits, failed });
    this.#archive = archive === undefined ? undefined : this.#archiveCoordinator(archive, open, isClosed);
    this.#applier = new CommandApplier({
      store,
      leaderPartitions,
      commits,
      archive: this.#archive,
      deliveries: this.#deliveries,
      waiters,
      counters,
      logger,
      isClosed,
      failed,
    });
    this.#flow = new FlowControl({
      rules: ports.rules,
      clock,
      submit: (command) => this.#mailbox.post({ kind: "command", command, reply: undefined }),
      whenDurable: (callback) => this.#mailbox.post({ kind: "barrier", passed: callback }),
      isSuspended: options.isSuspended === true,
    });
    const { largeGarbage } = ports;
    this.#invoker = ports.invoker(hostOf({ store, leaderPartitions, mailbox: this.#mailbox, largeGarbage, lost: failed }));
    const fire = (timer: TimerKey, done: () => void): void => this.#fire(timer, done);
    this.#timers = new Timers({ store, clock, fire, onError: failed, metrics }, options.partitions, options.cleanupIntervalMs);
    const partitionOf = (id: InvocationId): number => leaderPartitions.partitionOf(id);
    const { invoker, timers, flow } = { invoker: this.#invoker, timers: this.#timers, flow: this.#flow };
    this.#performer = new Performer({ invoker, timers, flow, waiters, counters, metrics, logger, partitionOf });
  }

  #archiveCoordinator(archive: Archive, open: (message: MailboxMessage) => void, isClosed: () => boolean): ArchiveCoordinator {
    return new ArchiveCoordinator({
      archive,
      clock: this.#ports.clock,
      logger: this.#ports.logger,
      leaderPartitions: this.#leaderPartitions,
      commits: this.#commits,
      waiters: this.waiters,
      isClosed,
      post: (message) => this.#mailbox.post(message),
      open,
      read: (leader, message, read) => this.#applier.read(leader, message, read),
    });
  }

  /**
   * Claims the leadership of the partitions, starts what was running and arms what is stored. When `signal` aborts meanwhile, it stops
   * at once, as by `abandon`, and rejects with STO0002.
   */
  static async start(ports: ProcessorPorts, options: ProcessorOptions, signal?: AbortSignal): Promise<Processor> {
    const processor = new Processor(ports, options);
    const abandon = (): void => processor.abandon("leadership was lost during its start");
    signal?.addEventListener("abort", abandon);
    try {
      await processor.#lead();
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
    return processor;
  }

  async #lead(): Promise<void> {
    const { store, logger, peers } = this.#ports;
    const { isSuspended, isHandedOver = false } = this.#options;
    const running: Invocation[] = [];
    // All at once: an embedded store combines them into one synced write.
    const epochs = await Promise.all(this.#options.partitions.map((partition) => store.claim(partition)));
    for (const [index, partition] of this.#options.partitions.entries()) {
      const epoch = epochs[index] as number;
      const cache = "reads" in store ? undefined : new RowCache(partition, store);
      const view = new LiveView(partition, cache ?? (store as PartitionStore).reads);
      const outbox = new Outbox(partition, epoch, peers, (seq) => this.#mailbox.post({ kind: "acknowledged", partition, seq }));
      this.#leaderPartitions.add({ view, cache, epoch, outbox, blocked: undefined, stopped: undefined });
      if (this.#archive !== undefined)
        this.#archive.recover(partition, {
          deletions: await store.stateOf(partition, DELETED_GENERATIONS.service, DELETED_GENERATIONS.key),
          ids: await store.stateOf(partition, ARCHIVED_IDS.service, ARCHIVED_IDS.key),
        });
      this.#flow.lead(view, await store.flow(partition));
      const counted = newPopulation();
      for await (const invocation of store.recoverable(partition, counted)) {
        this.#flow.recover(partition, invocation);
        if (invocation.status !== "invoked") continue;
        view.remember(invocation);
        running.push(invocation);
      }
      view.populationCounters.begin(counted);
      if (isSuspended !== true) await outbox.recover(store, (id) => this.#leaderPartitions.partitionOf(id));
    }
    if (isSuspended === true) return;
    this.#stillLeads(); // Reading takes time; a processor that lost the leadership meanwhile must run no handlers.
    if (running.length > 0) logger.info({ count: running.length }, "resuming invocations that were running");
    for (const invocation of running) {
      if (invocation.status !== "invoked") continue;
      this.#invoker.startRun({ kind: "startRun", invocation, firstEntries: undefined, isRecovered: !isHandedOver });
    }
    await this.#timers.start();
    this.#stillLeads();
    this.#flow.admitWaiting();
  }

  #stillLeads(): void {
    if (this.#closed) throw new PerdureError("STO0002", "leadership was lost during its start");
  }

  // ── submission ─────────────────────────────────────────────────────────────────────────────────

  /** Whether new work should be refused for now. */
  get isOverloaded(): boolean {
    return this.#mailbox.isFull;
  }

  /** Whether no caller, command, write, message to another partition or gated start is pending. */
  get isQuiet(): boolean {
    if (this.#closed) return true;
    if (!this.waiters.isEmpty || !this.#mailbox.isEmpty || this.#commits.isWriting) return false;
    for (const { outbox, view } of this.#leaderPartitions.values()) {
      if (outbox.hasPending) return false;
      // Entries held by a paused queue wait for an operator, whose command starts the processor again.
      for (const { state } of this.#flow.scheduler(view.partition)?.entries() ?? []) if (state !== "held") return false;
    }
    return true;
  }

  /** When the first stored timer is due, retention timers excluded; reads the store. */
  async nextDueAtMs(): Promise<number | undefined> {
    let first: number | undefined;
    if (this.#closed) return first;
    for (const { view } of this.#leaderPartitions.values()) {
      const [timer] = await this.#ports.store.timers(view.partition, "precise", 0, 1);
      if (timer !== undefined && timer.dueAtMs < (first ?? Number.POSITIVE_INFINITY)) first = timer.dueAtMs;
    }
    return first;
  }

  /** The epoch under which the invocation's partition is led here; undefined when it is not. */
  epochOf(id: InvocationId): number | undefined {
    return this.#closed ? undefined : this.#leaderPartitions.of(id)?.epoch;
  }

  leads(id: InvocationId): boolean {
    return !this.#closed && this.#leaderPartitions.of(id) !== undefined;
  }

  /**
   * Submits a command. Returns false when this processor does not lead the invocation's partition or has stopped; `reply` is then never
   * called. Nor is it called when the processor stops before the command is durable: register with `waiters` to be notified of that.
   */
  submit(command: PartitionCommand, reply: ((answer: CommandAnswer) => void) | undefined): boolean {
    if (!this.#takes(command.id)) return false;
    this.#mailbox.post({ kind: "command", command, reply });
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
    undelivered: () => void = NOTHING,
  ): boolean {
    if (!this.#takes(command.id)) return false;
    const message = { kind: "delivery", command, producer, seq, after, delivered, undelivered } as const;
    this.#deliveries.add(message);
    this.#mailbox.post(message);
    return true;
  }

  inspect(id: InvocationId, reply: (invocation: Invocation | undefined) => void): boolean {
    if (!this.#takes(id)) return false;
    this.#mailbox.post({ kind: "inspect", id, reply });
    return true;
  }

  /** Rows of flow control of a partition led here; undefined: it is led elsewhere. */
  async flowRows(partition: number): Promise<FlowRows | undefined> {
    const leader = this.#leaderPartitions.get(partition);
    if (leader === undefined || this.#closed) return undefined;
    const { store, clock } = this.#ports;
    const scheduler = this.#flow.scheduler(partition);
    return flowRowsOf({ store, partition, scheduler, pauses: leader.view.pauses(), nowMs: clock.nowMs() });
  }

  /** The limits and buckets of a partition, which are in memory. */
  flowLimits(partition: number): FlowLimits | undefined {
    if (this.#leaderPartitions.get(partition) === undefined || this.#closed) return undefined;
    return flowLimitsOf(this.#flow.scheduler(partition), this.#ports.clock.nowMs());
  }

  /** Adds the counts of the partitions led here to `all`. */
  addPopulation(all: Population): void {
    if (!this.#closed) for (const { view } of this.#leaderPartitions.values()) view.populationCounters.addTo(all);
  }

  /** What blocks an invocation that waits for a slot; undefined when it does not wait for one here. */
  flowWait(id: InvocationId): FlowWait | undefined {
    const scheduler = this.#flow.scheduler(this.#leaderPartitions.partitionOf(id));
    return scheduler === undefined || this.#closed ? undefined : waitOf(scheduler, id);
  }

  #takes(id: InvocationId): boolean {
    if (this.#closed) return false;
    const leader = this.#leaderPartitions.of(id);
    return leader !== undefined && leader.stopped === undefined;
  }

  // ── archiving ──────────────────────────────────────────────────────────────────────────────────

  /** Partitions led here, each with its epoch. */
  get leaderships(): readonly { readonly partition: number; readonly epoch: number }[] {
    return this.#closed
      ? []
      : [...this.#leaderPartitions.values()].map(({ view, epoch }) => ({ partition: view.partition, epoch }));
  }

  /**
   * Removes from the store what was put into the archive, unless it has changed since. Resolves with the number of removed invocations
   * when that is durable; with −1 when the processor stopped before.
   */
  async evict(partition: number, records: readonly ArchiveRecord[]): Promise<number> {
    if (this.#closed) return -1;
    return records.length === 0 ? 0 : ((await this.#archive?.evictLater(partition, records)) ?? 0);
  }

  /** Returns at most `limit` generations deleted here that the archive must still delete. */
  deletedGenerations(partition: number, limit: number): readonly ArchivedGeneration[] {
    return this.#archive?.deletedGenerations(partition, limit) ?? [];
  }

  /** The archive has deleted these generations. */
  deletedFromArchive(partition: number, generations: readonly ArchivedGeneration[]): void {
    this.#archive?.deletedFromArchive(partition, generations);
  }

  #fire(timer: TimerKey, done: () => void): void {
    this.#mailbox.post({ kind: "command", command: { kind: "timerFired", id: timer.id, timer }, reply: undefined });
    const passed = (): void => (this.#archive === undefined ? done() : this.#archive.whenTimersAreIn(done));
    this.#mailbox.post({ kind: "barrier", passed });
  }

  // ── shutdown ───────────────────────────────────────────────────────────────────────────────────

  #fenced(partition: number): void {
    this.#ports.logger.warn({ partition }, "another leader took over; stopping");
    this.#shut("the partition is led elsewhere");
    this.#abortAttempts();
    this.#ports.onFenced(partition);
  }

  #fail(cause: unknown): void {
    if (this.#closed) return;
    const error = PerdureError.from(cause);
    const { logger } = this.#ports;
    const fields = { code: error.code, error: error.message };
    const isLost = isLeadLost(error);
    if (isLost) logger.warn(fields, "a read was refused because the partition is not led here any more; stopping");
    else logger.error(fields, "storage failed; stopping");
    this.#shut(isLost ? "the partition is led elsewhere" : "storage failed");
    this.#abortAttempts();
    this.#ports.onFatal(error);
  }

  #shut(reason: string): void {
    this.#closed = true;
    this.#timers.stop();
    this.#flow.stop();
    this.#mailbox.clear();
    this.#commits.drop();
    this.#archive?.close();
    this.waiters.abandon(() => true, reason);
    // Messages that are being written are refused too: their sender offers them again, and the next leader detects duplicates by their
    // number.
    this.#deliveries.refuseAll(() => true);
    this.#commits.becameIdle(); // Callers that wait for a commit are notified that there will be none.
  }

  /** Stops at once and writes nothing more: another worker leads the partitions. Attempts are aborted in the background. */
  abandon(reason: string): void {
    if (this.#closed) return;
    this.#shut(reason);
    this.#abortAttempts();
  }

  /** Runs in the background. Without it, attempts in back-off would call endpoints again and again beside the next leader. */
  #abortAttempts(): void {
    this.#invoker[Symbol.asyncDispose]().then(undefined, (cause: unknown) => {
      this.#ports.logger.warn({ error: cause instanceof Error ? cause.message : String(cause) }, "stopping attempts failed");
    });
  }

  /**
   * Hands over: running attempts may suspend or end for `attemptsMs` at most and no others begin, then it stops as by disposal. Callers
   * are served meanwhile, and the next leader runs the invocations that they submit.
   */
  async yield(attemptsMs: number): Promise<void> {
    if (!this.#closed) {
      this.#timers.stop();
      this.#flow.stop();
      const { clock } = this.#ports;
      let bound: TimerHandle | undefined;
      const passed = new Promise<void>((resolve) => {
        bound = clock.setTimer(attemptsMs, resolve);
      });
      await Promise.race([this.#invoker.finishAttempts(), passed]);
      bound?.cancel();
    }
    await this[Symbol.asyncDispose]();
  }

  /**
   * Stops leading: attempts are aborted, applied commands are written if possible, and callers get an error that they can retry
   * elsewhere.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) {
      this.#timers.stop();
      this.#flow.stop();
      await this.#invoker[Symbol.asyncDispose]();
      this.#mailbox.turn();
      await this.#commits.untilIdle();
      this.#shut("the server is shutting down");
    } else {
      await this.#invoker[Symbol.asyncDispose]();
    }
  }
}

/** Returns counters that are all zero. */
export function newCounters(): ProcessorCounters {
  return { commands: 0, commits: 0, mutations: 0, completed: 0 };
}
