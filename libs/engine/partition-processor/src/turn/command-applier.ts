/**
 * Applies the commands of mailbox messages, one after the other, to the present state of their partition. A message whose rows are not
 * loaded blocks its partition: later messages of that partition wait behind it in order.
 */
import { InvariantError, Ring } from "@perdure/base";
import { apply, NeedsLoad, type PartitionCommand } from "@perdure/state-machine";
import { changesCompleted, needsArchive } from "../archive/needs-archive.js";
import type { LeaderPartition } from "../leader-partition.js";
import { SENT_AT_ONCE_MAX } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import { MissingRow } from "../view/row-cache.js";
import { readWhole } from "./load.js";
import type { MailboxMessage, MailboxMessageOf } from "./mailbox-message.js";

export class CommandApplier {
  readonly #group: PartitionGroup;
  /** Messages that the present mailbox message sent and that were applied in the same batch. */
  #sentAtOnce = 0;

  constructor(group: PartitionGroup) {
    this.#group = group;
  }

  /** Applies a message, or keeps it until the rows that it needs are loaded. */
  apply(message: MailboxMessage): void {
    this.#sentAtOnce = 0;
    if (message.kind === "barrier") return this.#passBarrier(message);
    const leader = this.#group.leaderOf(message);
    if (leader === undefined) return this.#answerWithoutLeader(message);
    try {
      this.#applyTo(leader, message);
    } catch (cause) {
      if (!(cause instanceof MissingRow)) throw cause;
      this.#block(leader, cause, message);
    }
  }

  #applyTo(leader: LeaderPartition, message: Exclude<MailboxMessage, { kind: "barrier" }>): void {
    const { archive } = this.#group;
    switch (message.kind) {
      case "command":
        return this.#applyCommand(leader, message);
      case "delivery":
        return this.#applyDelivery(leader, message);
      case "inspect":
        return this.#inspect(leader, message);
      case "evict":
        return archive === undefined ? message.evicted(0) : archive.evict(leader, message);
      case "deletedFromArchive":
        return archive?.removeDeletionNotes(leader, message);
      case "learnt":
        return archive?.learnt(leader, message);
      case "hide":
        if (leader.blocked !== undefined) return leader.blocked.push(message);
        return leader.cache?.hide(message.invocation.facts.id, message.entryCount);
      case "acknowledged":
        leader.view.mutate({ kind: "deleteOutbox", seq: message.seq });
        leader.view.accept();
    }
  }

  #answerWithoutLeader(message: MailboxMessage): void {
    if (message.kind === "inspect") this.#group.afterCommit({ kind: "answerInspection", message, invocation: undefined });
    else if (message.kind === "evict") message.evicted(0);
    else if (message.kind === "learnt") message.accepted();
  }

  #passBarrier(message: MailboxMessageOf<"barrier">): void {
    // Commands that were submitted earlier may wait for rows in any partition; this message waits behind them.
    for (const leader of this.#group.leaders.values()) if (leader.blocked !== undefined) return leader.blocked.push(message);
    this.#group.afterCommit({ kind: "passBarrier", message });
  }

  #inspect(leader: LeaderPartition, message: MailboxMessageOf<"inspect">): void {
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    const invocation = leader.stopped === undefined ? leader.view.invocation(message.id) : undefined;
    if (invocation === undefined && leader.stopped === undefined && this.#group.archive?.inspectionGoesAside(leader, message))
      return;
    this.#group.afterCommit({ kind: "answerInspection", message, invocation });
  }

  #applyCommand(leader: LeaderPartition, message: MailboxMessageOf<"command">): void {
    if (leader.stopped !== undefined) return;
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    const command = markedAsRepeated(leader, message.command);
    if (this.#group.archive?.goesAside(leader, message, command, message.receiver !== undefined) === true) return;
    const needs = this.#tryApply(leader, command, message);
    if (needs !== undefined) this.#block(leader, needs, message);
  }

  #applyDelivery(leader: LeaderPartition, message: MailboxMessageOf<"delivery">): void {
    const { deliveries, archive } = this.#group;
    if (leader.stopped !== undefined) return;
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    if (archive?.waitsBehind(message) === true) return;
    const lastSeq = leader.view.dedup(message.producer);
    if (message.after !== undefined && lastSeq < message.after) return deliveries.refuse(message);
    if (message.seq > lastSeq) {
      if (archive?.goesAside(leader, message, message.command, false) === true) return;
      const needs = this.#tryApply(leader, message.command, message);
      if (needs !== undefined) return this.#block(leader, needs, message);
    }
    this.#group.afterCommit({ kind: "confirmDelivery", message });
  }

  /**
   * Applies one command and, in the same batch, the commands that it sends to partitions that are led here too. Returns what must be
   * loaded before the command can be applied; nothing of it is applied then.
   */
  #tryApply(
    leader: LeaderPartition,
    command: PartitionCommand,
    message: MailboxMessageOf<"command" | "delivery"> | undefined,
  ): NeedsLoad | MissingRow | undefined {
    const { view } = leader;
    const { archive, counters } = this.#group;
    counters.commands++;
    try {
      const before = archive !== undefined && changesCompleted(command) ? view.invocation(command.id) : undefined;
      apply(view, command, view);
      if (message?.kind === "delivery") view.mutate({ kind: "putDedup", producer: message.producer, seq: message.seq });
      const isUnchanged = command.kind === "undo" && view.invocation(command.id) === before;
      if (before?.status === "completed" && !isUnchanged) archive?.noteChange(leader, before);
    } catch (cause) {
      view.takeBack();
      if (cause instanceof NeedsLoad || cause instanceof MissingRow) return cause;
      this.#stop(leader, cause);
      return undefined;
    }
    const receiver = message?.kind === "command" ? message.receiver : undefined;
    const { effects, sent } = view.accept();
    for (const effect of effects) this.#group.afterCommit({ kind: "effect", leader, effect, receiver });
    for (const each of sent) this.#route(leader, each);
    return undefined;
  }

  /**
   * Routes a command to its partition. A partition led here applies it in the same batch. A command to any other partition, to one that
   * is blocked, or beyond the limit per message goes through the outbox, which survives a crash. While the outbox has pending messages
   * for a partition, later ones queue behind them to keep their order.
   */
  #route(from: LeaderPartition, command: PartitionCommand): void {
    const { archive, leaders } = this.#group;
    const partition = leaders.partitionOf(command.id);
    const to = leaders.get(partition);
    // A command that may have to wait for the archive goes through the outbox, where it can wait.
    const mayWait = (archive !== undefined && needsArchive(command, false)) || this.#sentAtOnce >= SENT_AT_ONCE_MAX;
    if (
      to !== undefined &&
      to.blocked === undefined &&
      to.stopped === undefined &&
      !from.outbox.hasPendingFor(partition) &&
      !mayWait
    ) {
      this.#sentAtOnce++;
      if (this.#tryApply(to, command, undefined) === undefined && to.stopped === undefined) return;
    }
    const message = { seq: from.outbox.nextSeq(partition), command };
    from.view.mutate({ kind: "putOutbox", message });
    from.view.accept();
    this.#group.afterCommit({ kind: "send", leader: from, message, to: partition });
  }

  // ── waiting for rows ───────────────────────────────────────────────────────────────────────────

  /** Loads the missing rows, then continues with the message that needs them. */
  #block(leader: LeaderPartition, needs: NeedsLoad | MissingRow, message: MailboxMessage): void {
    const blocked = new Ring<MailboxMessage>();
    blocked.push(message);
    leader.blocked = blocked;
    void this.#loadAndContinue(leader, needs, blocked);
  }

  async #loadAndContinue(leader: LeaderPartition, needs: NeedsLoad | MissingRow, blocked: Ring<MailboxMessage>): Promise<void> {
    const { turns } = this.#group;
    try {
      if (needs instanceof MissingRow) await leader.cache?.fetch([needs.key]);
      else await this.#loadWhole(leader, needs);
      leader.blocked = undefined;
      if (this.#group.isClosed) return;
      // Applying the first one may block again; the others keep their place behind it.
      for (let next = blocked.shift(); next !== undefined; next = blocked.shift()) this.apply(next);
      turns.commit();
    } catch (cause) {
      this.#group.fail(cause);
    }
  }

  /** Loads all rows of a kind, as they are when everything applied is durable. */
  async #loadWhole({ partition, view }: LeaderPartition, { request }: NeedsLoad): Promise<void> {
    const { ports, turns } = this.#group;
    while (!view.isDurable) {
      if (this.#group.isClosed) return;
      await turns.nextIdle();
    }
    view.load(await readWhole(ports.store, partition, request));
  }

  /** Stops the partition, and no other, because an invariant was violated. */
  #stop(leader: LeaderPartition, cause: unknown): void {
    const { partition } = leader;
    const error =
      cause instanceof InvariantError
        ? cause
        : new InvariantError(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
    leader.stopped = error;
    const { ports, leaders, waiters, deliveries } = this.#group;
    ports.logger.error({ partition, error: error.message, stack: error.stack }, "an invariant was violated; the partition stops");
    waiters.abandonWhere((id) => leaders.partitionOf(id) === partition, "the partition has stopped");
    deliveries.refuseAll(({ command }) => leaders.partitionOf(command.id) === partition);
  }
}

/**
 * In a cluster a request may arrive after its own repetition, when its sender gave up a connection whose bytes were still in transit.
 * Random ids are not looked up when they are submitted for the first time, but rows in memory are checked.
 */
function markedAsRepeated(leader: LeaderPartition, command: PartitionCommand): PartitionCommand {
  if (command.kind !== "invoke" || command.resubmission === true || leader.cache === undefined) return command;
  const existing = leader.view.appliedInvocation(command.id) ?? leader.cache.peekInvocation(command.id);
  return existing === undefined ? command : { ...command, resubmission: true };
}
