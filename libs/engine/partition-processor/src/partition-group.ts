/**
 * The partitions that one processor leads, with everything that they share: a mailbox, a batch, callers, timers and an invoker. It is the
 * one object that the parts of a processor receive; each part reads from it what it needs and stores its own data here or in a
 * `LeaderPartition`.
 */
import { causeMessage, PerdureError } from "@perdure/base";
import type { Invoker } from "@perdure/invoker";
import { isLeadLost } from "@perdure/storage";
import { ArchiveCoordinator } from "./archive/archive-coordinator.js";
import { Waiters } from "./callers/waiters.js";
import { EventSubscriptions } from "./event-subscriptions.js";
import { FlowControl } from "./flow/flow-control.js";
import { AttemptHost } from "./invoker-host.js";
import { type LeaderPartition, LeaderPartitionTable } from "./leader-partition.js";
import { PendingDeliveries } from "./outbox/pending-deliveries.js";
import type { ProcessorCounters, ProcessorOptions, ProcessorPorts } from "./ports.js";
import { Timers } from "./timers.js";
import { TrafficCounters } from "./traffic/traffic-counters.js";
import { CommandApplier } from "./turn/command-applier.js";
import { Mailbox } from "./turn/mailbox.js";
import type { MailboxMessage } from "./turn/mailbox-message.js";
import type { PostCommitAction } from "./turn/ready-batch.js";
import { TurnLoop } from "./turn/turn-loop.js";

const NO_ACTIONS: readonly PostCommitAction[] = [];

export class PartitionGroup<I extends Invoker = Invoker> {
  readonly ports: ProcessorPorts<I>;
  readonly options: ProcessorOptions;
  readonly counters: ProcessorCounters;
  readonly leaders: LeaderPartitionTable;
  readonly mailbox = new Mailbox();
  readonly waiters = new Waiters();
  readonly deliveries = new PendingDeliveries();
  readonly turns: TurnLoop;
  readonly applier: CommandApplier;
  readonly flow: FlowControl;
  readonly events: EventSubscriptions;
  readonly timers: Timers;
  /** Undefined: without an archive, an invocation that the store does not have does not exist. */
  readonly archive: ArchiveCoordinator | undefined;
  readonly invoker: I;
  /** Made with the first one, for the reason given at `Overlay`. */
  #actions: PostCommitAction[] | undefined;
  #isClosed = false;

  constructor(ports: ProcessorPorts<I>, options: ProcessorOptions) {
    this.ports = ports;
    this.options = options;
    this.counters = ports.counters ?? newCounters();
    this.leaders = new LeaderPartitionTable(options.partitionCount);
    this.turns = new TurnLoop(this);
    this.applier = new CommandApplier(this);
    this.flow = new FlowControl(this);
    this.events = new EventSubscriptions(this);
    this.timers = new Timers(this);
    this.archive = ports.archive === undefined ? undefined : new ArchiveCoordinator(this, ports.archive);
    this.invoker = ports.invoker(new AttemptHost(this));
  }

  /** Nothing is applied, written or performed any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  // ── messages and actions ───────────────────────────────────────────────────────────────────────

  /** Adds a message to the mailbox, for the next turn. */
  post(message: MailboxMessage): void {
    if (this.#isClosed) return;
    this.mailbox.push(message);
    this.turns.schedule();
  }

  /** The leader of the partition that the message is for. A barrier is for all partitions. */
  leaderOf(message: MailboxMessage): LeaderPartition | undefined {
    switch (message.kind) {
      case "command":
      case "delivery":
        return this.leaders.of(message.command.id);
      case "inspect":
        return this.leaders.of(message.id);
      case "hide":
        return this.leaders.of(message.invocation.facts.id);
      case "evict":
      case "deletedFromArchive":
      case "learnt":
      case "acknowledged":
        return this.leaders.get(message.partition);
      case "barrier":
        return undefined;
    }
  }

  /** Performs the action when everything applied so far is durable; at the end of the turn when it already is. */
  afterCommit(action: PostCommitAction): void {
    this.#actions ??= [];
    this.#actions.push(action);
  }

  /** Returns the actions since the last call. */
  takeActions(): readonly PostCommitAction[] {
    const actions = this.#actions;
    this.#actions = undefined;
    return actions ?? NO_ACTIONS;
  }

  // ── the end of leadership ──────────────────────────────────────────────────────────────────────

  /** Another worker leads the partition: a commit was refused. */
  fenced(partition: number): void {
    this.ports.logger.warn({ partition }, "another leader took over; stopping");
    this.close("the partition is led elsewhere");
    this.#abortAttempts();
    this.ports.onFenced(partition);
  }

  /** The store failed, or refused a read because another worker leads. */
  fail(cause: unknown): void {
    if (this.#isClosed) return;
    const error = PerdureError.from(cause);
    const { logger } = this.ports;
    const fields = { code: error.code, error: error.message };
    const isLost = isLeadLost(error);
    if (isLost) logger.warn(fields, "a read was refused because the partition is not led here any more; stopping");
    else logger.error(fields, "storage failed; stopping");
    this.close(isLost ? "the partition is led elsewhere" : "storage failed");
    this.#abortAttempts();
    this.ports.onFatal(error);
  }

  /** Stops at once and writes nothing more: another worker leads the partitions. Attempts are aborted in the background. */
  abandon(reason: string): void {
    if (this.#isClosed) return;
    this.close(reason);
    this.#abortAttempts();
  }

  /** Stops the start of attempts and the firing of timers. */
  stopStarting(): void {
    this.timers.stop();
    this.flow.stop();
    this.events.stop();
  }

  /** Notifies everything that waits, with the reason, that it waits in vain. */
  close(reason: string): void {
    this.#isClosed = true;
    this.stopStarting();
    this.mailbox.clear();
    this.#actions = undefined;
    this.archive?.close();
    this.waiters.abandonAll(reason);
    // Messages that are being written are refused too: their sender offers them again, and the next leader detects duplicates by their
    // number.
    this.deliveries.refuseAll(() => true);
    this.turns.becameIdle(); // What waits for a commit continues: there will be none.
  }

  /** Runs in the background. Without it, attempts in back-off would call endpoints again and again beside the next leader. */
  #abortAttempts(): void {
    this.invoker[Symbol.asyncDispose]().then(undefined, (cause: unknown) => {
      this.ports.logger.warn({ error: causeMessage(cause) }, "stopping attempts failed");
    });
  }
}

/** Returns counters that are all zero. */
export function newCounters(): ProcessorCounters {
  return {
    commands: 0,
    commits: 0,
    mutations: 0,
    completed: 0,
    undoDropped: 0,
    statesExpired: 0,
    traffic: new TrafficCounters(),
  };
}
