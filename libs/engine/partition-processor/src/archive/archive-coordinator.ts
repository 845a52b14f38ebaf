/**
 * Connects a leader with the archive of its partitions. Messages that need an archived invocation are set aside until the archive has
 * responded; archived invocations are evicted from the store; deleted generations are noted until the archive has deleted them too.
 */
import { backoffMs, bytesEqual, EMPTY_BYTES, type InvocationId, PerdureError } from "@perdure/base";
import type { Completed, PartitionCommand } from "@perdure/state-machine";
import {
  type Archive,
  type ArchivedGeneration,
  type ArchiveRecord,
  DELETED_GENERATIONS,
  encodeInvocation,
  purgeTimer,
} from "@perdure/storage";
import type { LeaderPartition } from "../leader-partition.js";
import { LEARN_AGAIN_BOUNDS } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import type { MailboxMessage, MailboxMessageOf } from "../turn/mailbox-message.js";
import { type ArchivedInvocation, ArchiveResolver } from "./archive-resolver.js";
import { ARCHIVED_IDS, COMPLETE } from "./archived-ids.js";
import { evictionOf } from "./eviction.js";
import { changesCompleted, needsArchive } from "./needs-archive.js";

export class ArchiveCoordinator {
  readonly #group: PartitionGroup;
  readonly #archive: Archive;
  readonly #resolver: ArchiveResolver;
  /** Callbacks of archivers that wait for an eviction. */
  readonly #evicting = new Set<(count: number) => void>();
  /** Callbacks of reads of the archive that collect its ids and wait for space in the mailbox. */
  readonly #learning = new Set<() => void>();
  /** Number of retention timers whose commands wait for the archive, and the callbacks to run when it reaches zero. */
  #timersAside = 0;
  #timersDone: (() => void)[] = [];

  constructor(group: PartitionGroup, archive: Archive) {
    this.#group = group;
    this.#archive = archive;
    this.#resolver = new ArchiveResolver(group, archive, this);
  }

  close(): void {
    this.#resolver.close();
    for (const resolve of this.#evicting) resolve(-1);
    this.#evicting.clear();
    for (const resolve of this.#learning) resolve();
    this.#learning.clear();
  }

  // ── messages that need the archive ──────────────────────────────────────────────────────────────

  /** Whether the message is set aside until the archive has responded. Throws `MissingRow` when the row of its invocation is not loaded. */
  goesAside(
    leader: LeaderPartition,
    message: MailboxMessageOf<"command" | "delivery">,
    command: PartitionCommand,
    isAnswered: boolean,
  ): boolean {
    const resolver = this.#resolver;
    if (!needsArchive(command, isAnswered) || resolver.isChecked(message)) return false;
    if (leader.view.invocation(command.id) !== undefined || this.#wasNeverArchived(leader, command)) return false;
    if (message.kind === "delivery") resolver.hold(message.producer);
    if (command.kind === "timerFired") this.#timersAside++;
    resolver.request(command.id, message, command.kind === "restartAsNew");
    return true;
  }

  /** The same for `inspect` of an invocation that the store does not have. */
  inspectionGoesAside(leader: LeaderPartition, message: MailboxMessageOf<"inspect">): boolean {
    if (this.#resolver.isChecked(message) || !this.#mayBeArchived(leader, message.id)) return false;
    this.#resolver.request(message.id, message, false);
    return true;
  }

  /** Commands that may end a generation always query the archive, because the fingerprint may be deleted before the generation. */
  #wasNeverArchived(leader: LeaderPartition, command: PartitionCommand): boolean {
    return !changesCompleted(command) && !this.#mayBeArchived(leader, command.id);
  }

  /**
   * Whether the invocation may be in the archive. While a look-up of it is under way it may, so that later messages wait behind the look-up
   * and keep their order.
   */
  #mayBeArchived({ archived }: LeaderPartition, id: InvocationId): boolean {
    return this.#resolver.isRequested(id) || archived?.ids.mayHave(id) !== false;
  }

  /** True: the message waits behind an earlier one of its producer, which was set aside. */
  waitsBehind(message: MailboxMessageOf<"delivery">): boolean {
    return !this.#resolver.isChecked(message) && this.#resolver.waitsBehind(message);
  }

  /** Calls back when no retention timer that fired waits for the archive any more. */
  whenTimersAreIn(done: () => void): void {
    if (this.#timersAside === 0) done();
    else this.#timersDone.push(done); // Timers whose deletion is not durable yet would be read again.
  }

  /** The archive has responded: messages about one invocation are applied in their order. */
  continue(leader: LeaderPartition, messages: readonly MailboxMessage[], archived: ArchivedInvocation | undefined): void {
    const { ports, applier, turns } = this.#group;
    if (this.#group.isClosed) return;
    leader.view.nowMs = ports.clock.nowMs();
    if (archived !== undefined) leader.cache?.show(archived.invocation, archived.entries);
    for (const message of messages) {
      applier.apply(message);
      if (message.kind === "command" && message.command.kind === "timerFired") this.#timersAside--;
    }
    if (archived !== undefined)
      applier.apply({ kind: "hide", invocation: archived.invocation, entryCount: archived.entries.length });
    for (const message of messages) {
      if (message.kind !== "delivery") continue;
      for (const next of this.#resolver.release(message.producer)) applier.apply(next);
    }
    if (this.#timersAside === 0)
      for (const done of this.#timersDone.splice(0)) this.#group.post({ kind: "barrier", passed: done });
    turns.commit();
  }

  // ── eviction and deletion ───────────────────────────────────────────────────────────────────────

  /** A completed invocation was deleted or changed: the archive may still have its former record. */
  noteChange(leader: LeaderPartition, before: Completed): void {
    const { view, archived } = leader;
    const after = view.invocation(before.facts.id);
    if (after === before) return;
    if (after?.status === "completed") {
      // The invocation is kept here again, and archived again later; its timer was deleted when it was archived.
      const timer = purgeTimer(after);
      view.mutate({ kind: "putTimer", timer });
      view.effect({ kind: "armTimer", timer });
    } else if (archived !== undefined) {
      const name = archived.deletions.add(before);
      view.mutate({ kind: "putState", ...DELETED_GENERATIONS, stateKey: name, value: EMPTY_BYTES });
      this.#group.afterCommit({ kind: "noteDeletion", leader, name });
    }
  }

  /** Resolves with the number of removed invocations when that is durable; with −1 when the processor stopped before. */
  evictLater(partition: number, records: readonly ArchiveRecord[]): Promise<number> {
    return new Promise((resolve) => {
      this.#evicting.add(resolve);
      const evicted = (count: number): void => {
        this.#evicting.delete(resolve);
        resolve(count);
      };
      this.#group.post({ kind: "evict", partition, records, evicted });
    });
  }

  /** Throws `MissingRow` when a row of an invocation is not loaded. */
  evict(leader: LeaderPartition, message: MailboxMessageOf<"evict">): void {
    const { view, archived } = leader;
    if (leader.stopped !== undefined) return message.evicted(0);
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    const present = message.records.map(({ id }) => view.invocation(id));
    const evicted: InvocationId[] = [];
    for (const [index, { id, row, retainedUntilMs }] of message.records.entries()) {
      const invocation = present[index];
      if (invocation?.status !== "completed" || !bytesEqual(encodeInvocation(invocation), row)) continue;
      for (const mutation of evictionOf(invocation)) view.mutateUnseen(mutation);
      evicted.push(id);
      archived?.ids.add(id, retainedUntilMs);
    }
    storeIds(leader);
    view.accept();
    this.#resolver.moved(evicted);
    this.#group.afterCommit({ kind: "confirmEviction", message, count: evicted.length });
  }

  /** Reads the ids of what was archived before the partition kept fingerprints: none in a new partition. Never rejects. */
  async learnIds(leader: LeaderPartition): Promise<void> {
    const { clock, logger } = this.#group.ports;
    const { partition, archived } = leader;
    if (archived === undefined || archived.ids.isComplete || this.#group.isClosed) return;
    try {
      for await (const generations of this.#archive.scan({ partition })) {
        if (this.#group.isClosed) return;
        await this.#learnt(partition, generations, false); // One page at a time, however long the turns are.
      }
      if (!this.#group.isClosed) await this.#learnt(partition, [], true);
    } catch (cause) {
      if (this.#group.isClosed) return;
      const reason = PerdureError.from(cause).detail;
      logger.warn({ partition, reason }, "archived ids could not be read; calls with keys wait for the archive");
      clock.setTimer(backoffMs(0, LEARN_AGAIN_BOUNDS), () => void this.learnIds(leader));
    }
  }

  /** Resolves when the mailbox has accepted the page, or when it never will. */
  #learnt(partition: number, generations: readonly ArchivedGeneration[], isAll: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#learning.add(resolve);
      const accepted = (): void => {
        this.#learning.delete(resolve);
        resolve();
      };
      this.#group.post({ kind: "learnt", partition, generations, isAll, accepted });
    });
  }

  learnt(leader: LeaderPartition, { generations, isAll, accepted }: MailboxMessageOf<"learnt">): void {
    accepted();
    const { view, archived } = leader;
    if (archived === undefined) return;
    for (const { id, retainedUntilMs } of generations) archived.ids.add(id, retainedUntilMs);
    storeIds(leader);
    if (isAll) {
      archived.ids.complete();
      view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey: COMPLETE, value: EMPTY_BYTES });
    }
    view.accept();
  }

  /** The archive has deleted these generations. */
  deletedFromArchive({ partition, archived }: LeaderPartition, generations: readonly ArchivedGeneration[]): void {
    // At once, so that the next call of `toDelete` does not return them again.
    for (const generation of generations) archived?.deletions.confirm(generation);
    this.#resolver.moved(generations.map(({ id }) => id)); // A look-up under way may have read them before.
    this.#group.post({ kind: "deletedFromArchive", partition, generations });
  }

  removeDeletionNotes({ view, archived }: LeaderPartition, { generations }: MailboxMessageOf<"deletedFromArchive">): void {
    if (archived === undefined) return;
    for (const generation of generations)
      view.mutate({ kind: "deleteState", ...DELETED_GENERATIONS, stateKey: archived.deletions.confirm(generation) });
    view.accept();
  }
}

/** Writes new fingerprints with the batch under way. */
function storeIds({ view, archived }: LeaderPartition): void {
  if (archived === undefined) return;
  for (const stateKey of archived.ids.expire(view.nowMs)) view.mutate({ kind: "deleteState", ...ARCHIVED_IDS, stateKey });
  for (const [stateKey, value] of archived.ids.changed()) view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey, value });
}
