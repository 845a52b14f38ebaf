/**
 * Takes messages from the mailbox one after the other and applies their commands to the present state of the partition. A message whose
 * rows are not loaded blocks its partition: later messages of that partition wait behind it in order.
 */
import { InvariantError, type InvocationId, type Logger, Ring, unreachable } from "@perdure/base";
import { apply, type CommandAnswer, type LoadRequest, NeedsLoad, type PartitionCommand } from "@perdure/state-machine";
import type { AsyncPartitionStore, PartitionStore } from "@perdure/storage";
import type { ArchiveCoordinator } from "../archive/archive-coordinator.js";
import { changesCompleted, needsArchive } from "../archive/archive-resolver.js";
import type { Waiters } from "../callers/waiters.js";
import type { LeaderPartition, LeaderPartitionTable } from "../leader-partition.js";
import { SENT_AT_ONCE_MAX } from "../limits.js";
import type { PendingDeliveries } from "../outbox/pending-deliveries.js";
import type { ProcessorCounters } from "../ports.js";
import type { LiveView, Loaded } from "../view/live-view.js";
import { MissingRow } from "../view/row-cache.js";
import type { GroupCommit } from "./group-commit.js";
import { type MailboxMessage, type MailboxMessageOf, NOTHING } from "./mailbox-message.js";

export interface CommandApplierPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly leaderPartitions: LeaderPartitionTable;
  readonly commits: GroupCommit;
  /** Undefined: without an archive, an invocation that the store does not have does not exist. */
  readonly archive: ArchiveCoordinator | undefined;
  readonly deliveries: PendingDeliveries;
  readonly waiters: Waiters;
  readonly counters: ProcessorCounters;
  readonly logger: Logger;
  readonly isClosed: () => boolean;
  readonly failed: (cause: unknown) => void;
}

type ReplyCallback = ((answer: CommandAnswer) => void) | undefined;

export class CommandApplier {
  readonly #ports: CommandApplierPorts;
  readonly #leaderPartitions: LeaderPartitionTable;
  readonly #commits: GroupCommit;
  readonly #archive: ArchiveCoordinator | undefined;
  /** Messages that the present mailbox message sent and that were applied in the same batch. */
  #sentAtOnce = 0;

  constructor(ports: CommandApplierPorts) {
    this.#ports = ports;
    this.#leaderPartitions = ports.leaderPartitions;
    this.#commits = ports.commits;
    this.#archive = ports.archive;
  }

  open(message: MailboxMessage): void {
    this.#sentAtOnce = 0;
    switch (message.kind) {
      case "command": {
        const leader = this.#leaderPartitions.of(message.command.id);
        if (leader === undefined) return;
        return this.#apply(leader, ofOne(leader, message.command), message.reply, message, undefined);
      }
      case "delivery":
        return this.#applyDelivery(message);
      case "inspect":
        return this.#inspect(message);
      case "barrier": {
        // Commands that were submitted earlier may wait for rows in any partition; this message waits behind them.
        for (const leader of this.#leaderPartitions.values())
          if (leader.blocked !== undefined) return leader.blocked.push(message);
        return this.#commits.afterCommit(message.passed);
      }
      case "evict":
        return this.#archive === undefined ? message.evicted(0) : this.#archive.evict(message);
      case "deletedFromArchive":
        return this.#archive?.removeDeletionNotes(message);
      case "learnt":
        return this.#archive?.learnt(message);
      case "hide": {
        const leader = this.#leaderPartitions.of(message.invocation.facts.id);
        if (leader?.blocked !== undefined) return leader.blocked.push(message);
        return leader?.cache?.hide(message.invocation.facts.id, message.entryCount);
      }
      case "acknowledged": {
        const view = this.#leaderPartitions.get(message.partition)?.view;
        view?.mutate({ kind: "deleteOutbox", seq: message.seq });
        return view?.accept(NOTHING, NOTHING);
      }
    }
  }

  /** Runs a read for a mailbox message; undefined when the partition keeps the message until the row is loaded. */
  read<T>(leader: LeaderPartition, message: MailboxMessage, read: (view: LiveView) => T): T | undefined {
    try {
      return read(leader.view);
    } catch (cause) {
      if (!(cause instanceof MissingRow)) throw cause;
      this.#block(leader, cause, message);
      return undefined;
    }
  }

  #inspect(message: MailboxMessageOf<"inspect">): void {
    const leader = this.#leaderPartitions.of(message.id);
    if (leader?.blocked !== undefined) return leader.blocked.push(message);
    if (leader === undefined || leader.stopped !== undefined) return this.#commits.afterCommit(() => message.reply(undefined));
    const result = this.read(leader, message, (view) => ({ invocation: view.invocation(message.id) }));
    if (result === undefined) return;
    if (result.invocation === undefined && this.#archive?.inspectionGoesAside(message) === true) return;
    this.#commits.afterCommit(() => message.reply(result.invocation));
  }

  #applyDelivery(message: MailboxMessageOf<"delivery">): void {
    const { deliveries } = this.#ports;
    const leader = this.#leaderPartitions.of(message.command.id);
    if (leader === undefined || leader.stopped !== undefined) return;
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    if (this.#archive?.waitsBehind(message) === true) return;
    const lastSeq = this.read(leader, message, (view) => view.dedup(message.producer));
    if (lastSeq === undefined) return;
    if (message.after !== undefined && lastSeq < message.after) return deliveries.refuse(message);
    if (message.seq > lastSeq) {
      if (this.#archive?.goesAside(leader, message, message.command, false) === true) return;
      this.#apply(leader, message.command, undefined, message, (view) =>
        view.mutate({ kind: "putDedup", producer: message.producer, seq: message.seq }),
      );
      if (leader.blocked !== undefined) return; // The message is not applied yet: it waits at the head of the blocked messages.
    }
    this.#commits.afterCommit(() => deliveries.delivered(message));
  }

  /** Applies the command of a mailbox message; a partition that waits for rows keeps the message. */
  #apply(
    leader: LeaderPartition,
    command: PartitionCommand,
    reply: ReplyCallback,
    message: MailboxMessageOf<"command" | "delivery">,
    also: ((view: LiveView) => void) | undefined,
  ): void {
    if (leader.stopped !== undefined) return;
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    if (message.kind === "command" && this.#archive?.goesAside(leader, message, command, reply !== undefined) === true) return;
    const needs = this.#tryApply(leader, command, reply, also);
    if (needs !== undefined) this.#block(leader, needs, message);
  }

  /** Applies one command and, in the same batch, the messages that it sends to partitions that are led here too. */
  #tryApply(
    leader: LeaderPartition,
    command: PartitionCommand,
    reply: ReplyCallback,
    also: ((view: LiveView) => void) | undefined,
  ): NeedsLoad | MissingRow | undefined {
    const { view } = leader;
    this.#ports.counters.commands++;
    try {
      const before = this.#archive !== undefined && changesCompleted(command) ? view.invocation(command.id) : undefined;
      apply(view, command, view);
      also?.(view);
      if (before?.status === "completed") this.#archive?.noteChange(view, before);
    } catch (cause) {
      view.takeBack();
      if (cause instanceof NeedsLoad || cause instanceof MissingRow) return cause;
      this.#stop(leader, cause);
      return undefined;
    }
    view.accept(
      (effect) => this.#commits.afterCommit({ effect, reply }),
      (sent) => this.#route(leader, sent),
    );
    return undefined;
  }

  /**
   * Routes a command to its partition. A partition led here applies it in the same batch. A command to any other partition, to one that
   * is blocked, or beyond the limit per message goes through the outbox, which survives a crash. While the outbox has pending messages
   * for a partition, later ones queue behind them to keep their order.
   */
  #route(from: LeaderPartition, command: PartitionCommand): void {
    const partition = this.#leaderPartitions.partitionOf(command.id);
    const to = this.#leaderPartitions.get(partition);
    // A command that may have to wait for the archive goes through the outbox, where it can wait.
    const mayWait = (this.#archive !== undefined && needsArchive(command, false)) || this.#sentAtOnce >= SENT_AT_ONCE_MAX;
    if (
      to !== undefined &&
      to.blocked === undefined &&
      to.stopped === undefined &&
      !from.outbox.hasPendingFor(partition) &&
      !mayWait
    ) {
      this.#sentAtOnce++;
      if (this.#tryApply(to, command, undefined, undefined) === undefined && to.stopped === undefined) return;
    }
    const message = { seq: from.outbox.nextSeq(partition), command };
    from.view.mutate({ kind: "putOutbox", message });
    from.view.accept(NOTHING, NOTHING);
    this.#commits.afterCommit(() => from.outbox.send(message, partition));
  }

  // ── waiting for rows ───────────────────────────────────────────────────────────────────────────

  /** Loads the missing rows, then continues with the message that needs them. */
  #block(leader: LeaderPartition, needs: NeedsLoad | MissingRow, message: MailboxMessage): void {
    const blocked = new Ring<MailboxMessage>();
    blocked.push(message);
    leader.blocked = blocked;
    const read = async (): Promise<void> => {
      if (needs instanceof MissingRow) await leader.cache?.fetch([needs.key]);
      else await this.#loadWhole(leader, needs);
      leader.blocked = undefined;
      if (this.#ports.isClosed()) return;
      // Applying the first one may block again; the others keep their place behind it.
      for (let next = blocked.shift(); next !== undefined; next = blocked.shift()) this.open(next);
      this.#commits.write();
    };
    read().catch(this.#ports.failed);
  }

  /** Loads all rows of a kind, as they are when everything applied is durable. */
  async #loadWhole({ view }: LeaderPartition, { request }: NeedsLoad): Promise<void> {
    while (!view.isDurable) {
      if (this.#ports.isClosed()) return;
      await new Promise<void>((resolve) => this.#commits.whenIdle(resolve));
    }
    view.load(await this.#rowsOf(view.partition, request));
  }

  async #rowsOf(partition: number, request: LoadRequest): Promise<Loaded> {
    const { store } = this.#ports;
    switch (request.kind) {
      case "stateOf":
        return { ...NO_ROWS, request, state: await store.stateOf(partition, request.service, request.key) };
      case "promisesOf":
        return { ...NO_ROWS, request, names: await store.promisesOf(partition, request.service, request.key) };
      case "journalOf":
        return { ...NO_ROWS, request, entries: await store.readJournal(partition, request.id, request.length) };
      default:
        return unreachable(request);
    }
  }

  /** Stops the partition, and no other, because an invariant was violated. */
  #stop(leader: LeaderPartition, cause: unknown): void {
    const { partition } = leader.view;
    const error =
      cause instanceof InvariantError
        ? cause
        : new InvariantError(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
    leader.stopped = error;
    const { logger, waiters, deliveries } = this.#ports;
    logger.error({ partition, error: error.message, stack: error.stack }, "an invariant was violated; the partition stops");
    const isOfIt = (id: InvocationId): boolean => this.#leaderPartitions.partitionOf(id) === partition;
    waiters.abandon(isOfIt, "the partition has stopped");
    deliveries.refuseAll(({ command }) => isOfIt(command.id));
  }
}

/**
 * In a cluster a request may arrive after its own repetition, when its sender gave up a connection whose bytes were still in transit.
 * Random ids are not looked up when they are submitted for the first time, but rows in memory are checked.
 */
function ofOne(leader: LeaderPartition, command: PartitionCommand): PartitionCommand {
  if (command.kind !== "invoke" || command.resubmission === true || leader.cache === undefined) return command;
  const existing = leader.view.appliedInvocation(command.id) ?? leader.cache.peekInvocation(command.id);
  return existing === undefined ? command : { ...command, resubmission: true };
}

const NO_ROWS: Omit<Loaded, "request"> = { state: new Map(), names: [], entries: [] };
