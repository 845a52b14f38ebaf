/**
 * Drives the pure core of one or more partitions that share a store:
 *
 *     mailbox ▸ load ▸ apply ▸ commit ▸ perform
 *
 * Commands are applied as they come, each seeing what the ones before it did. While one batch is being written the next
 * gathers, so load makes the groups and nobody waits on a timer. Effects are performed only when their batch is durable.
 *
 * Loading is nothing where the store answers reads at once. Behind a network, what the commands at hand are sure to read is fetched
 * in one round trip before they are applied, and what they turn out to need beside it is fetched then.
 */
import {
  bytesEqual,
  type Clock,
  EMPTY_BYTES,
  InvariantError,
  type InvocationId,
  type Logger,
  PerdureError,
  partitionOf,
  Ring,
} from "@perdure/base";
import { type FlowLimits, type FlowRows, FlowScheduler, type FlowWait, type RuleBook, waitOf } from "@perdure/flow";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import {
  type Answer,
  type AttemptCommand,
  apply,
  type Completed,
  type Effect,
  type Invocation,
  type JournalEntry,
  NeedsLoad,
  type PartitionCommand,
  type TimerKey,
} from "@perdure/partition";
import {
  type Archive,
  type ArchivedLife,
  type ArchiveRecord,
  type AsyncPartitionStore,
  encodeInvocation,
  FORGOTTEN,
  type PartitionBatch,
  type PartitionStore,
  purgeTimer,
  type RowKey,
  rowName,
  rowsFor,
} from "@perdure/store";
import { ArchiveDesk, asksArchive, changesCompleted, type FoundInArchive } from "./archive-desk.js";
import { evictionOf } from "./eviction.js";
import { FlowControl, type RuleSource } from "./flow-control.js";
import { flowLimitsOf, flowRowsOf } from "./flow-rows.js";
import { MAILBOX_BYTES_MAX, MAILBOX_COMMANDS_MAX, PENDING_BYTES_MAX, TURN_COMMANDS_MAX } from "./limits.js";
import { LiveView } from "./live-view.js";
import { Outbox, type OutboxPeers } from "./outbox.js";
import { MissingRow, RowCache } from "./row-cache.js";
import { Timers } from "./timers.js";
import { Waiters } from "./waiters.js";

/** What waits in the mailbox. */
type Letter =
  | { readonly kind: "command"; readonly command: PartitionCommand; readonly reply: ((answer: Answer) => void) | undefined }
  /** A message from another partition's outbox, at least once. */
  | {
      readonly kind: "owed";
      readonly command: PartitionCommand;
      readonly producer: string;
      readonly seq: number;
      /** Taken only when this one of the same producer is here. */
      readonly after: number | undefined;
      readonly delivered: () => void;
      readonly undelivered: () => void;
    }
  /** What is known of an invocation, told when it is durable. */
  | { readonly kind: "inspect"; readonly id: InvocationId; readonly tell: (invocation: Invocation | undefined) => void }
  | { readonly kind: "barrier"; readonly passed: () => void }
  /** What was put into the archive leaves the store, if it is what it was then. */
  | {
      readonly kind: "evict";
      readonly partition: number;
      readonly records: readonly ArchiveRecord[];
      readonly evicted: (count: number) => void;
    }
  /** The archive has forgotten these lives: their notes go. */
  | { readonly kind: "forgottenThere"; readonly partition: number; readonly lives: readonly ArchivedLife[] }
  /** The commands about an archived invocation have been applied. */
  | { readonly kind: "hide"; readonly invocation: Completed; readonly entryCount: number }
  /** Deletes acknowledged outbox messages. */
  | { readonly kind: "acknowledged"; readonly partition: number; readonly seq: number };

/** Something to do once the batch is durable. */
type Wish = { readonly effect: Effect; readonly reply: ((answer: Answer) => void) | undefined } | (() => void);

interface Led {
  readonly view: LiveView;
  /** Rows of a store behind a network. */
  readonly cache: RowCache | undefined;
  readonly epoch: number;
  readonly outbox: Outbox;
  /** Letters that wait until rows are loaded; undefined while nothing is being loaded. */
  blocked: Ring<Letter> | undefined;
  /** An invariant broke: the partition answers nobody until somebody restarts the process. */
  stopped: InvariantError | undefined;
}

export interface ProcessorPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs a task after the I/O callbacks of this round (`setImmediate`), so that one turn takes all that arrived together. */
  readonly soon: (task: () => void) => void;
  /** Builds the invoker once the processor can be spoken to. */
  readonly invoker: (host: InvokerHost) => Invoker;
  /** Rules of flow control. */
  readonly rules: RuleSource;
  /** Makes the scheduler of a partition; the real one when left out. Simulation plants bugs here. */
  readonly flowScheduler?: (book: RuleBook) => FlowScheduler;
  /** Where completed invocations went that the store has no more; only beside a store behind a network. */
  readonly archive?: Archive;
  /** Leaders of partitions that are led elsewhere. */
  readonly peers: OutboxPeers;
  /** Leadership of a partition was lost: the processor has stopped. */
  readonly onFenced: (partition: number) => void;
  /** The store failed: nothing can be promised any more. The processor has stopped. */
  readonly onFatal: (error: PerdureError) => void;
}

export interface ProcessorOptions {
  /** Partitions to lead; more than one only on a store with `sharedBatch`. */
  readonly partitions: readonly number[];
  /** How many partitions the environment has. */
  readonly partitionCount: number;
  /** How often retention timers are looked at. */
  readonly cleanupIntervalMs: number;
}

/** Counters for metrics; all rise only. */
export interface ProcessorCounters {
  commands: number;
  commits: number;
  mutations: number;
  completed: number;
}

export class Processor implements AsyncDisposable {
  readonly waiters = new Waiters();
  readonly counters: ProcessorCounters = { commands: 0, commits: 0, mutations: 0, completed: 0 };
  readonly #ports: ProcessorPorts;
  readonly #options: ProcessorOptions;
  readonly #led = new Map<number, Led>();
  readonly #mailbox = new Ring<Letter>();
  #mailboxBytes = 0;
  #invoker: Invoker | undefined;
  #timers: Timers | undefined;
  readonly #flow: FlowControl;
  readonly #desk: ArchiveDesk<Letter> | undefined;
  /** Messages of others that are neither durable nor refused: whoever sent them waits for one or the other. */
  readonly #owed = new Set<Letter & { kind: "owed" }>();
  /** Archivers that wait for an eviction. */
  readonly #evicting = new Set<(count: number) => void>();
  /** Retention timers whose commands wait for the archive, and who wants to hear when there are none. */
  #timersAside = 0;
  #timersDone: (() => void)[] = [];

  #turnScheduled = false;
  /** Rows for the next turn are on their way. */
  #isFetching = false;
  /** What was fetched for the next turn, so that nothing is asked for twice. */
  readonly #fetched = new Set<string>();
  #committing = false;
  #wishes: Wish[] = [];
  #closed = false;
  /** Called between two commits, when nothing is being written. */
  #idle: (() => void)[] = [];

  private constructor(ports: ProcessorPorts, options: ProcessorOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#flow = new FlowControl({
      rules: ports.rules,
      scheduler: ports.flowScheduler ?? ((book) => new FlowScheduler(book)),
      clock: ports.clock,
      submit: (command) => this.#post({ kind: "command", command, reply: undefined }),
      settled: (callback) => this.#post({ kind: "barrier", passed: callback }),
    });
    const { archive, clock } = ports;
    if (archive === undefined) return;
    this.#desk = new ArchiveDesk({
      archive,
      clock,
      answered: (id, letters, found) => this.#archiveAnswered(id, letters, found),
      unavailable: (id, letters, reason) => this.#archiveUnavailable(id, letters, reason),
      isHeard: (letter) => letter.kind === "inspect" || (letter.kind === "command" && letter.command.kind !== "timerFired"),
    });
  }

  /** Takes the leadership of the partitions, starts what was running and arms what is stored. */
  static async start(ports: ProcessorPorts, options: ProcessorOptions): Promise<Processor> {
    const processor = new Processor(ports, options);
    await processor.#lead();
    return processor;
  }

  async #lead(): Promise<void> {
    const { store, clock, logger, peers } = this.#ports;
    const invoker = this.#ports.invoker(this.#host());
    this.#invoker = invoker;
    this.#timers = new Timers(
      { store, clock, fire: (timer, done) => this.#fire(timer, done), onError: (cause) => this.#fail(cause) },
      this.#options.partitions,
      this.#options.cleanupIntervalMs,
    );
    const running: Invocation[] = [];
    // All at once: an embedded store makes one synced write of them.
    const epochs = await Promise.all(this.#options.partitions.map((partition) => store.claim(partition)));
    for (const [index, partition] of this.#options.partitions.entries()) {
      const epoch = epochs[index] as number;
      const cache = "reads" in store ? undefined : new RowCache(partition, store);
      const view = new LiveView(partition, cache ?? (store as PartitionStore).reads);
      const outbox = new Outbox(partition, epoch, peers, (seq) => this.#post({ kind: "acknowledged", partition, seq }));
      this.#led.set(partition, { view, cache, epoch, outbox, blocked: undefined, stopped: undefined });
      if (this.#desk !== undefined)
        this.#desk.recover(partition, (await store.stateOf(partition, FORGOTTEN.service, FORGOTTEN.key)).keys());
      this.#flow.lead(view, await store.flow(partition));
      for await (const invocation of store.takenUp(partition)) {
        this.#flow.recover(partition, invocation);
        if (invocation.status !== "invoked") continue;
        view.remember(invocation);
        running.push(invocation);
      }
      await outbox.recover(store, (id) => this.#partitionOf(id));
    }
    if (running.length > 0) logger.info({ count: running.length }, "resuming invocations that were running");
    for (const invocation of running) {
      if (invocation.status === "invoked") invoker.startRun({ kind: "startRun", invocation, firstEntries: undefined });
    }
    await this.#timers.start();
    this.#flow.settle();
  }

  // ── submitting ─────────────────────────────────────────────────────────────────────────────────

  /** Whether new work should be refused for now. */
  get isOverloaded(): boolean {
    return this.#mailbox.length >= MAILBOX_COMMANDS_MAX || this.#mailboxBytes >= MAILBOX_BYTES_MAX;
  }

  leads(id: InvocationId): boolean {
    return !this.#closed && this.#led.has(partitionOf(id, this.#options.partitionCount));
  }

  /**
   * False when this processor does not lead the invocation's partition or has stopped; `reply` is then never called. Nor is it
   * when the processor stops before the command is durable: who must know asks `waiters`.
   */
  submit(command: PartitionCommand, reply: ((answer: Answer) => void) | undefined): boolean {
    if (!this.#takes(command.id)) return false;
    this.#post({ kind: "command", command, reply });
    return true;
  }

  /**
   * A message owed by another partition. `delivered` is called when it, or an earlier delivery of it, is durable. With `after`, the
   * message is taken only when that earlier one of its producer is here; else `undelivered` is called, as it is when the partition
   * stops or goes to another leader before the message is durable. Exactly one of the two is called.
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
    const letter = { kind: "owed", command, producer, seq, after, delivered, undelivered } as const;
    this.#owed.add(letter);
    this.#post(letter);
    return true;
  }

  inspect(id: InvocationId, tell: (invocation: Invocation | undefined) => void): boolean {
    if (!this.#takes(id)) return false;
    this.#post({ kind: "inspect", id, tell });
    return true;
  }

  /** What flow control sees of a partition led here; undefined: it is led elsewhere. */
  async flowRows(partition: number): Promise<FlowRows | undefined> {
    const led = this.#led.get(partition);
    if (led === undefined || this.#closed) return undefined;
    const { store, clock } = this.#ports;
    const scheduler = this.#flow.scheduler(partition);
    return flowRowsOf({ store, partition, scheduler, pauses: led.view.pauses(), nowMs: clock.nowMs() });
  }

  /** Its limits and buckets alone, which are at hand. */
  flowLimits(partition: number): FlowLimits | undefined {
    if (!this.#led.has(partition) || this.#closed) return undefined;
    return flowLimitsOf(this.#flow.scheduler(partition), this.#ports.clock.nowMs());
  }

  /** What holds back an invocation that waits for a slot; undefined when it does not wait for one here. */
  flowWait(id: InvocationId): FlowWait | undefined {
    const scheduler = this.#flow.scheduler(this.#partitionOf(id));
    return scheduler === undefined || this.#closed ? undefined : waitOf(scheduler, id);
  }

  #takes(id: InvocationId): boolean {
    if (this.#closed) return false;
    const led = this.#led.get(partitionOf(id, this.#options.partitionCount));
    return led !== undefined && led.stopped === undefined;
  }

  #post(letter: Letter): void {
    if (this.#closed) return;
    this.#mailbox.push(letter);
    this.#mailboxBytes += bytesOf(letter);
    this.#scheduleTurn();
  }

  #scheduleTurn(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    this.#ports.soon(() => this.#turn());
  }

  // ── the turn ───────────────────────────────────────────────────────────────────────────────────

  #turn(): void {
    this.#turnScheduled = false;
    if (this.#closed || this.#isFetching || this.#fetch()) return;
    const nowMs = this.#ports.clock.nowMs();
    let pendingBytes = 0;
    for (const led of this.#led.values()) {
      led.view.nowMs = nowMs;
      pendingBytes += led.view.mutationBytes;
    }
    for (let applied = 0; applied < TURN_COMMANDS_MAX && pendingBytes < PENDING_BYTES_MAX; applied++) {
      const letter = this.#mailbox.shift();
      if (letter === undefined) break;
      const bytes = bytesOf(letter);
      this.#mailboxBytes -= bytes;
      pendingBytes += bytes;
      this.#open(letter);
    }
    if (!this.#committing) this.#commit();
    if (this.#mailbox.length > 0 && !(this.#committing && pendingBytes >= PENDING_BYTES_MAX)) this.#scheduleTurn();
  }

  /** Whether rows that the letters at hand will read must be fetched first; the turn comes again when they are here. */
  #fetch(): boolean {
    const fetches: Promise<void>[] = [];
    for (const led of this.#led.values()) {
      if (led.cache === undefined) return false;
      const missing = this.#missing(led, led.cache, this.#mailbox);
      if (missing.length > 0) fetches.push(led.cache.fetch(missing));
    }
    if (fetches.length === 0) {
      if (this.#fetched.size > 0) this.#fetched.clear();
      return false;
    }
    this.#isFetching = true;
    Promise.all(fetches).then(
      () => {
        this.#isFetching = false;
        this.#turn();
      },
      (cause: unknown) => {
        this.#isFetching = false;
        this.#fail(cause);
      },
    );
    return true;
  }

  /** Rows that letters are sure to read, and that are neither applied, nor kept, nor just fetched. */
  #missing(led: Led, cache: RowCache, letters: Iterable<Letter>): RowKey[] {
    const missing: RowKey[] = [];
    const want = (key: RowKey): void => {
      // Whole states and promises have a way of their own: `NeedsLoad`.
      if (key.kind === "stateOf" || key.kind === "promisesOf" || led.view.hasApplied(key) || cache.has(key)) return;
      const name = rowName(key);
      if (this.#fetched.has(name)) return;
      this.#fetched.add(name);
      missing.push(key);
    };
    let count = 0;
    for (const letter of letters) {
      if (++count > TURN_COMMANDS_MAX) break;
      if (letter.kind === "evict") {
        if (this.#led.get(letter.partition) !== led) continue;
        for (const { id } of letter.records) want({ kind: "invocation", id });
      } else if (letter.kind === "inspect") {
        if (this.#led.get(this.#partitionOf(letter.id)) === led) want({ kind: "invocation", id: letter.id });
      } else if (letter.kind === "command" || letter.kind === "owed") {
        const { id } = letter.command;
        if (this.#led.get(this.#partitionOf(id)) !== led) continue;
        if (letter.kind === "owed") want({ kind: "dedup", producer: letter.producer });
        const known = led.view.appliedInvocation(id) ?? cache.peekInvocation(id);
        for (const key of rowsFor(letter.command, known)) want(key);
      }
    }
    return missing;
  }

  #open(letter: Letter): void {
    switch (letter.kind) {
      case "command":
        return this.#apply(this.#partitionOf(letter.command.id), letter.command, letter.reply, letter, undefined);
      case "owed":
        return this.#applyOwed(letter);
      case "inspect": {
        const led = this.#led.get(this.#partitionOf(letter.id));
        if (led?.blocked !== undefined) return led.blocked.push(letter);
        if (led === undefined || led.stopped !== undefined) return void this.#wishes.push(() => letter.tell(undefined));
        const found = this.#read(led, letter, (view) => ({ invocation: view.invocation(letter.id) }));
        if (found === undefined) return;
        if (found.invocation === undefined && this.#desk?.isChecked(letter) === false)
          return this.#desk.ask(letter.id, letter, false);
        this.#wishes.push(() => letter.tell(found.invocation));
        return;
      }
      case "barrier": {
        // What was submitted before it may wait for rows in any partition; it waits behind that.
        for (const led of this.#led.values()) if (led.blocked !== undefined) return led.blocked.push(letter);
        this.#wishes.push(letter.passed);
        return;
      }
      case "evict":
        return this.#evict(letter);
      case "forgottenThere": {
        const view = this.#led.get(letter.partition)?.view;
        if (view === undefined || this.#desk === undefined) return;
        for (const life of letter.lives)
          view.mutate({ kind: "deleteState", ...FORGOTTEN, stateKey: this.#desk.isForgottenThere(letter.partition, life) });
        return view.accept(NOTHING, NOTHING);
      }
      case "hide": {
        const { id } = letter.invocation.facts;
        const led = this.#led.get(this.#partitionOf(id));
        if (led?.blocked !== undefined) return led.blocked.push(letter);
        return led?.cache?.hide(id, letter.entryCount);
      }
      case "acknowledged":
        this.#led.get(letter.partition)?.view.mutate({ kind: "deleteOutbox", seq: letter.seq });
        this.#led.get(letter.partition)?.view.accept(NOTHING, NOTHING);
        return;
    }
  }

  #partitionOf(id: InvocationId): number {
    return partitionOf(id, this.#options.partitionCount);
  }

  #applyOwed(letter: Letter & { kind: "owed" }): void {
    const partition = this.#partitionOf(letter.command.id);
    const led = this.#led.get(partition);
    if (led === undefined || led.stopped !== undefined) return;
    if (led.blocked !== undefined) return led.blocked.push(letter);
    const isChecked = this.#desk?.isChecked(letter) === true;
    if (!isChecked && this.#desk?.waitsBehind(letter.producer, letter) === true) return;
    const seen = this.#read(led, letter, (view) => view.dedup(letter.producer));
    if (seen === undefined) return;
    if (letter.after !== undefined && seen < letter.after) return this.#refuse(letter);
    if (letter.seq > seen) {
      if (this.#goesAside(led, letter, letter.command, false)) return;
      this.#apply(partition, letter.command, undefined, letter, (view) =>
        view.mutate({ kind: "putDedup", producer: letter.producer, seq: letter.seq }),
      );
      if (led.blocked !== undefined) return; // Not applied yet: it waits in front of the blocked letters.
    }
    this.#wishes.push(() => {
      if (this.#owed.delete(letter)) letter.delivered();
    });
  }

  /** The message stays with its sender, who brings it to whoever leads then. */
  #refuse(letter: Letter & { kind: "owed" }): void {
    if (this.#owed.delete(letter)) letter.undelivered();
  }

  /** Reads for a letter; undefined when the partition keeps the letter until the row is here. */
  #read<T>(led: Led, letter: Letter, read: (view: LiveView) => T): T | undefined {
    try {
      return read(led.view);
    } catch (cause) {
      if (!(cause instanceof MissingRow)) throw cause;
      this.#block(led, cause, letter);
      return undefined;
    }
  }

  /** Applies the command of a letter; a partition that waits for rows keeps the letter. */
  #apply(
    partition: number,
    command: PartitionCommand,
    reply: ((answer: Answer) => void) | undefined,
    letter: Letter,
    also: ((view: LiveView) => void) | undefined,
  ): void {
    const led = this.#led.get(partition);
    if (led === undefined || led.stopped !== undefined) return;
    if (led.blocked !== undefined) return led.blocked.push(letter);
    if (letter.kind === "command" && this.#goesAside(led, letter, command, reply !== undefined)) return;
    const needs = this.#tryApply(led, command, reply, also);
    if (needs !== undefined) this.#block(led, needs, letter);
  }

  /** One command and, in the same batch, the messages it sends to partitions that are led here too. */
  #tryApply(
    led: Led,
    command: PartitionCommand,
    reply: ((answer: Answer) => void) | undefined,
    also: ((view: LiveView) => void) | undefined,
  ): NeedsLoad | MissingRow | undefined {
    const { view } = led;
    this.counters.commands++;
    try {
      const before = this.#desk !== undefined && changesCompleted(command) ? view.invocation(command.id) : undefined;
      apply(view, command, view);
      also?.(view);
      if (before?.status === "completed") this.#noteChange(view, before);
    } catch (cause) {
      view.takeBack();
      if (cause instanceof NeedsLoad || cause instanceof MissingRow) return cause;
      this.#stop(led, view.partition, cause);
      return undefined;
    }
    view.accept(
      (effect) => this.#wishes.push({ effect, reply }),
      (sent) => this.#route(led, sent),
    );
    return undefined;
  }

  /**
   * To a partition led here: the same batch. To any other, and to one that cannot take it at once: through the outbox,
   * which survives us. While the outbox owes a partition something, later messages queue behind it to keep their order.
   */
  #route(from: Led, command: PartitionCommand): void {
    const partition = this.#partitionOf(command.id);
    const to = this.#led.get(partition);
    // What may have to wait for the archive takes the way on which that is possible.
    const mayWait = this.#desk !== undefined && asksArchive(command, false);
    if (to !== undefined && to.blocked === undefined && to.stopped === undefined && !from.outbox.owesTo(partition) && !mayWait) {
      if (this.#tryApply(to, command, undefined, undefined) === undefined && to.stopped === undefined) return;
    }
    const message = { seq: from.outbox.nextSeq(partition), command };
    from.view.mutate({ kind: "putOutbox", message });
    from.view.accept(NOTHING, NOTHING);
    this.#wishes.push(() => from.outbox.owe(message, partition));
  }

  /** Rows are missing: read them, then go on where it stopped. */
  #block(led: Led, needs: NeedsLoad | MissingRow, letter: Letter): void {
    const blocked = new Ring<Letter>();
    blocked.push(letter);
    led.blocked = blocked;
    const read = async (): Promise<void> => {
      if (needs instanceof MissingRow) await led.cache?.fetch([needs.key]);
      else await this.#loadWhole(led, needs);
      led.blocked = undefined;
      if (this.#closed) return;
      const first = blocked.shift();
      if (first !== undefined) this.#open(first);
      // Opening the first one may block again; the others keep their place behind it.
      for (let next = blocked.shift(); next !== undefined; next = blocked.shift()) this.#open(next);
      if (!this.#committing) this.#commit();
    };
    read().catch((cause: unknown) => this.#fail(cause));
  }

  /** All rows of a kind, as they are when everything applied is durable. */
  async #loadWhole({ view }: Led, { request }: NeedsLoad): Promise<void> {
    while (!view.isSettled) {
      if (this.#closed) return;
      await new Promise<void>((resolve) => this.#whenIdle(resolve));
    }
    const { store } = this.#ports;
    const { service, key } = request;
    const state = request.kind === "stateOf" ? await store.stateOf(view.partition, service, key) : EMPTY_STATE;
    const names = request.kind === "promisesOf" ? await store.promisesOf(view.partition, service, key) : EMPTY_NAMES;
    view.load(request, state, names);
  }

  #whenIdle(callback: () => void): void {
    if (this.#committing) this.#idle.push(callback);
    else {
      this.#idle.push(callback);
      this.#scheduleTurn();
    }
  }

  /** A broken invariant stops its partition and no other. */
  #stop(led: Led, partition: number, cause: unknown): void {
    const error =
      cause instanceof InvariantError
        ? cause
        : new InvariantError(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
    led.stopped = error;
    this.#ports.logger.error(
      { partition, error: error.message, stack: error.stack },
      "an invariant is broken; this partition stops",
    );
    this.waiters.abandon((id) => this.#partitionOf(id) === partition, "the partition has stopped");
    for (const letter of this.#owed) if (this.#partitionOf(letter.command.id) === partition) this.#refuse(letter);
  }

  // ── what the archive has ───────────────────────────────────────────────────────────────────────

  /** Whether the letter leaves the turn: until its invocation's row is here, or until the archive has answered. */
  #goesAside(led: Led, letter: Letter & { kind: "command" | "owed" }, command: PartitionCommand, isAnswered: boolean): boolean {
    const desk = this.#desk;
    if (desk === undefined || !asksArchive(command, isAnswered) || desk.isChecked(letter)) return false;
    const found = this.#read(led, letter, (view) => ({ invocation: view.invocation(command.id) }));
    if (found === undefined) return true;
    if (found.invocation !== undefined) return false;
    if (letter.kind === "owed") desk.hold(letter.producer);
    if (command.kind === "timerFired") this.#timersAside++;
    desk.ask(command.id, letter, command.kind === "restartAsNew");
    return true;
  }

  #archiveAnswered(id: InvocationId, letters: readonly Letter[], found: FoundInArchive | undefined): void {
    const led = this.#led.get(this.#partitionOf(id));
    if (led === undefined || this.#closed) return;
    led.view.nowMs = this.#ports.clock.nowMs();
    if (found !== undefined) led.cache?.show(found.invocation, found.entries);
    for (const letter of letters) {
      this.#open(letter);
      if (letter.kind === "command" && letter.command.kind === "timerFired") this.#timersAside--;
    }
    if (found !== undefined) this.#open({ kind: "hide", invocation: found.invocation, entryCount: found.entries.length });
    for (const letter of letters) {
      if (letter.kind !== "owed") continue;
      for (const next of this.#desk?.release(letter.producer) ?? []) this.#open(next);
    }
    if (this.#timersAside === 0) for (const done of this.#timersDone.splice(0)) this.#post({ kind: "barrier", passed: done });
    if (!this.#committing) this.#commit();
  }

  /** Whoever asked about it hears that there is no answer now. */
  #archiveUnavailable(id: InvocationId, letters: readonly Letter[], reason: string): void {
    if (letters.length > 0) this.waiters.abandon((each) => each === id, reason);
  }

  /** A completed invocation was forgotten, or changed: the archive may still have it as it was. */
  #noteChange(view: LiveView, before: Completed): void {
    const after = view.invocation(before.facts.id);
    if (after === before) return;
    if (after?.status === "completed") {
      // It is kept here again, and archived again in time; the timer went when it was archived.
      const timer = purgeTimer(after);
      view.mutate({ kind: "putTimer", timer });
      view.effect({ kind: "armTimer", timer });
    } else if (this.#desk !== undefined) {
      const desk = this.#desk;
      const stateKey = desk.forget(view.partition, before);
      view.mutate({ kind: "putState", ...FORGOTTEN, stateKey, value: EMPTY_BYTES });
      this.#wishes.push(() => desk.noted(stateKey));
    }
  }

  #evict(letter: Letter & { kind: "evict" }): void {
    const led = this.#led.get(letter.partition);
    if (led === undefined || led.stopped !== undefined) return letter.evicted(0);
    if (led.blocked !== undefined) return led.blocked.push(letter);
    const { view } = led;
    const present = this.#read(led, letter, () => letter.records.map(({ id }) => view.invocation(id)));
    if (present === undefined) return;
    const evicted: InvocationId[] = [];
    for (const [index, { id, row }] of letter.records.entries()) {
      const invocation = present[index];
      if (invocation?.status !== "completed" || !bytesEqual(encodeInvocation(invocation), row)) continue;
      for (const mutation of evictionOf(invocation)) view.mutateUnseen(mutation);
      evicted.push(id);
    }
    view.accept(NOTHING, NOTHING);
    this.#desk?.moved(evicted);
    this.#wishes.push(() => letter.evicted(evicted.length));
  }

  /** Partitions led here, each with its epoch. */
  get leaderships(): readonly { readonly partition: number; readonly epoch: number }[] {
    return this.#closed ? [] : [...this.#led].map(([partition, { epoch }]) => ({ partition, epoch }));
  }

  /**
   * Removes from the store what was put into the archive, unless it has changed since. Resolves with how many are gone when that is
   * durable; with −1 when the processor stopped before.
   */
  evict(partition: number, records: readonly ArchiveRecord[]): Promise<number> {
    if (this.#closed || records.length === 0) return Promise.resolve(this.#closed ? -1 : 0);
    return new Promise((resolve) => {
      this.#evicting.add(resolve);
      const evicted = (count: number): void => {
        this.#evicting.delete(resolve);
        resolve(count);
      };
      this.#post({ kind: "evict", partition, records, evicted });
    });
  }

  /** Lives forgotten here that the archive must forget, at most `limit`. */
  forgottenLives(partition: number, limit: number): readonly ArchivedLife[] {
    return this.#desk?.forgotten(partition, limit) ?? [];
  }

  /** The archive has forgotten them. */
  forgottenInArchive(partition: number, lives: readonly ArchivedLife[]): void {
    // Not later: the next question about which lives are left must not name them again.
    for (const life of lives) this.#desk?.isForgottenThere(partition, life);
    this.#post({ kind: "forgottenThere", partition, lives });
  }

  // ── commit and perform ─────────────────────────────────────────────────────────────────────────

  #commit(): void {
    const batches: PartitionBatch[] = [];
    const sealed: Led[] = [];
    let count = 0;
    for (const led of this.#led.values()) {
      if (led.view.mutationCount === 0) continue;
      const mutations = led.view.seal();
      count += mutations.length;
      batches.push({ partition: led.view.partition, epoch: led.epoch, mutations });
      sealed.push(led);
    }
    const wishes = this.#wishes;
    if (batches.length === 0) {
      if (wishes.length > 0) {
        this.#wishes = [];
        this.#perform(wishes);
      }
      return this.#becameIdle();
    }
    this.#wishes = [];
    this.#committing = true;
    this.counters.commits++;
    this.counters.mutations += count;
    this.#ports.store.commit(batches).then(
      (outcome) => {
        this.#committing = false;
        if (this.#closed) return this.#becameIdle();
        if (outcome.kind === "fenced") return this.#fenced(outcome.partition);
        for (const [index, led] of sealed.entries()) {
          led.cache?.settled((batches[index] as PartitionBatch).mutations);
          led.view.settle();
        }
        this.#perform(wishes);
        this.#becameIdle(); // Other partitions may never leave a pause between two commits.
        this.#commit();
        if (this.#mailbox.length > 0) this.#scheduleTurn();
      },
      (cause: unknown) => {
        this.#committing = false;
        this.#fail(cause);
      },
    );
  }

  #becameIdle(): void {
    if (this.#idle.length === 0 || this.#committing) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const callback of idle) callback();
  }

  #perform(wishes: readonly Wish[]): void {
    for (const wish of wishes) {
      try {
        if (typeof wish === "function") wish();
        else this.#performEffect(wish.effect, wish.reply);
      } catch (cause) {
        // One caller's trouble must not keep the effects of others from happening.
        this.#ports.logger.error({ error: cause instanceof Error ? cause.stack : String(cause) }, "performing an effect failed");
      }
    }
    this.#flow.settle();
  }

  #performEffect(effect: Effect, reply: ((answer: Answer) => void) | undefined): void {
    const invoker = this.#invoker as Invoker;
    switch (effect.kind) {
      case "startRun":
        return invoker.startRun(effect);
      case "entryStored":
        return invoker.entryStored(effect);
      case "stopRun":
        return invoker.stopRun(effect);
      case "requestPause":
        return invoker.requestPause(effect);
      case "retryNow":
        return invoker.retryNow(effect);
      case "armTimer":
        return this.#timers?.arm(this.#partitionOf(effect.timer.id), effect.timer);
      case "requestSlot":
      case "takeSlot":
        return this.#flow.perform(this.#partitionOf(effect.invocation.facts.id), effect);
      case "slotUnused":
      case "releaseSlot":
      case "withdraw":
      case "queueSwitched":
        return this.#flow.perform(this.#partitionOf(effect.id), effect);
      case "announce":
        this.counters.completed++;
        return this.waiters.announce(effect.id, effect.outcome);
      case "reply":
        return reply?.(effect.answer);
    }
  }

  // ── invoker, timers ────────────────────────────────────────────────────────────────────────────

  #host(): InvokerHost {
    return {
      submit: (command: AttemptCommand) => this.#post({ kind: "command", command, reply: undefined }),
      settled: (callback: () => void) => this.#post({ kind: "barrier", passed: callback }),
      readJournal: (id: InvocationId, length: number): Promise<readonly JournalEntry[]> =>
        this.#ports.store.readJournal(this.#partitionOf(id), id, length),
      readState: (id: InvocationId, service: string, key: string) => this.#readState(id, service, key),
    };
  }

  async #readState(id: InvocationId, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const partition = this.#partitionOf(id);
    const view = this.#led.get(partition)?.view;
    const known = view?.durableState(service, key);
    if (known !== undefined) return known;
    const watch = view?.watchState(service, key);
    let isCurrent = false;
    let state: ReadonlyMap<string, Uint8Array>;
    try {
      state = await this.#ports.store.stateOf(partition, service, key);
    } finally {
      isCurrent = watch?.finished() ?? false;
    }
    if (isCurrent) view?.rememberState(service, key, state);
    return state;
  }

  #fire(timer: TimerKey, done: () => void): void {
    this.#post({ kind: "command", command: { kind: "timerFired", id: timer.id, timer }, reply: undefined });
    const passed = (): void => {
      if (this.#timersAside === 0) done();
      else this.#timersDone.push(done); // Not durable yet: they would be found again.
    };
    this.#post({ kind: "barrier", passed });
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  #fenced(partition: number): void {
    this.#ports.logger.warn({ partition }, "another leader took over; stopping");
    this.#shut("the partition is led elsewhere");
    this.#ports.onFenced(partition);
  }

  #fail(cause: unknown): void {
    if (this.#closed) return;
    const error = PerdureError.from(cause);
    this.#ports.logger.error(
      { code: error.code, error: error.message },
      "storage failed; stopping before anything is promised that is not kept",
    );
    this.#shut("storage failed");
    this.#ports.onFatal(error);
  }

  #shut(reason: string): void {
    this.#closed = true;
    this.#timers?.stop();
    this.#flow.stop();
    this.#mailbox.clear();
    this.#wishes = [];
    this.#desk?.close();
    for (const resolve of this.#evicting) resolve(-1);
    this.#evicting.clear();
    this.waiters.abandon(() => true, reason);
    // Also what is being written: its sender offers it again, and the next leader knows it by its number.
    for (const letter of this.#owed) this.#refuse(letter);
    this.#becameIdle(); // Whoever waits for a commit learns that there will be none.
  }

  /** Stops at once, writing nothing more: the partitions are somebody else's. Attempts are aborted in the background. */
  abandon(reason: string): void {
    if (this.#closed) return;
    this.#shut(reason);
    this.#invoker?.[Symbol.asyncDispose]().then(undefined, (cause: unknown) => {
      this.#ports.logger.warn({ error: cause instanceof Error ? cause.message : String(cause) }, "stopping attempts failed");
    });
  }

  /** Stops leading: attempts are aborted, what is applied is written if it can be, callers are told to try elsewhere. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) {
      this.#timers?.stop();
      this.#flow.stop();
      await this.#invoker?.[Symbol.asyncDispose]();
      this.#turn();
      while (this.#committing) await new Promise<void>((resolve) => this.#idle.push(resolve));
      this.#shut("the server is shutting down");
    } else {
      await this.#invoker?.[Symbol.asyncDispose]();
    }
  }
}

const NOTHING = (): void => undefined;
const EMPTY_STATE: ReadonlyMap<string, Uint8Array> = new Map();
const EMPTY_NAMES: readonly string[] = [];

/** Payload a letter holds; small ones count as nothing. */
function bytesOf(letter: Letter): number {
  if (letter.kind !== "command") return 0;
  const { command } = letter;
  if (command.kind === "invoke") return command.input.length;
  return command.kind === "appendCommand" || command.kind === "proposeRun" ? command.body.length : 0;
}
