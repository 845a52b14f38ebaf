/**
 * Connects a leader with the archive of its partitions. Messages that need an archived invocation are set aside until the archive has
 * responded; archived invocations are evicted from the store; deleted generations are noted until the archive has deleted them too.
 */
import {
  backoffMs,
  bytesEqual,
  type Clock,
  EMPTY_BYTES,
  type InvocationId,
  type Logger,
  PerdureError,
  type Random,
} from "@perdure/base";
import type { Completed, PartitionCommand } from "@perdure/state-machine";
import {
  type Archive,
  type ArchivedGeneration,
  type ArchiveRecord,
  DELETED_GENERATIONS,
  encodeInvocation,
  purgeTimer,
} from "@perdure/storage";
import type { Waiters } from "../callers/waiters.js";
import type { LeaderPartition, LeaderPartitionTable } from "../leader-partition.js";
import { LEARN_AGAIN_BOUNDS } from "../limits.js";
import type { GroupCommit } from "../turn/group-commit.js";
import { type MailboxMessage, type MailboxMessageOf, NOTHING } from "../turn/mailbox-message.js";
import type { LiveView } from "../view/live-view.js";
import { type ArchivedInvocation, ArchiveResolver, changesCompleted, needsArchive } from "./archive-resolver.js";
import { ARCHIVED_IDS, ArchivedIds, COMPLETE } from "./archived-ids.js";
import { evictionOf } from "./eviction.js";

export interface ArchiveCoordinatorPorts {
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
  readonly leaderPartitions: LeaderPartitionTable;
  readonly commits: GroupCommit;
  readonly waiters: Waiters;
  readonly isClosed: () => boolean;
  /** Adds a message to the mailbox. */
  readonly post: (message: MailboxMessage) => void;
  /** Applies a message at once. */
  readonly open: (message: MailboxMessage) => void;
  /** As `read` of the applier. */
  readonly read: <T>(leader: LeaderPartition, message: MailboxMessage, read: (view: LiveView) => T) => T | undefined;
}

type Entries = ReadonlyMap<string, Uint8Array>;

export class ArchiveCoordinator {
  readonly #ports: ArchiveCoordinatorPorts;
  readonly #resolver: ArchiveResolver<MailboxMessage>;
  readonly #ids = new Map<number, ArchivedIds>();
  /** Callbacks of archivers that wait for an eviction. */
  readonly #evicting = new Set<(count: number) => void>();
  /** Callbacks of reads of the archive that collect its ids and wait for space in the mailbox. */
  readonly #learning = new Set<() => void>();
  /** Number of retention timers whose commands wait for the archive, and the callbacks to run when it reaches zero. */
  #timersAside = 0;
  #timersDone: (() => void)[] = [];

  constructor(ports: ArchiveCoordinatorPorts) {
    this.#ports = ports;
    this.#resolver = new ArchiveResolver({
      archive: ports.archive,
      clock: ports.clock,
      random: ports.random,
      answered: (id, messages, archived) => this.#answered(id, messages, archived),
      // The callers of these messages receive an error because the archive did not respond.
      unavailable: (id, messages, reason) => {
        if (messages.length > 0) ports.waiters.abandon((each) => each === id, reason);
      },
      hasCaller: (message) => message.kind === "inspect" || (message.kind === "command" && message.command.kind !== "timerFired"),
    });
  }

  /** Takes over the notes of former leaders, as they are stored under `DELETED_GENERATIONS` and `ARCHIVED_IDS`. */
  recover(partition: number, notes: { readonly deletions: Entries; readonly ids: Entries }): void {
    this.#resolver.recover(partition, notes.deletions.keys());
    const ids = new ArchivedIds(notes.ids);
    this.#ids.set(partition, ids);
    if (!ids.isComplete) void this.#learn(partition);
  }

  close(): void {
    this.#resolver.close();
    for (const resolve of this.#evicting) resolve(-1);
    this.#evicting.clear();
    for (const resolve of this.#learning) resolve();
    this.#learning.clear();
  }

  // ── messages that need the archive ──────────────────────────────────────────────────────────────

  /** Whether the message is set aside: until the row of its invocation is loaded, or until the archive has responded. */
  goesAside(
    leader: LeaderPartition,
    message: MailboxMessageOf<"command" | "delivery">,
    command: PartitionCommand,
    isAnswered: boolean,
  ): boolean {
    const resolver = this.#resolver;
    if (!needsArchive(command, isAnswered) || resolver.isChecked(message)) return false;
    const result = this.#ports.read(leader, message, (view) => ({ invocation: view.invocation(command.id) }));
    if (result === undefined) return true;
    if (result.invocation !== undefined || this.#wasNeverArchived(leader.view.partition, command)) return false;
    if (message.kind === "delivery") resolver.hold(message.producer);
    if (command.kind === "timerFired") this.#timersAside++;
    resolver.request(command.id, message, command.kind === "restartAsNew");
    return true;
  }

  /** The same for `inspect` of an invocation that the store does not have. */
  inspectionGoesAside(message: MailboxMessageOf<"inspect">): boolean {
    const partition = this.#ports.leaderPartitions.of(message.id)?.view.partition;
    if (this.#resolver.isChecked(message) || (partition !== undefined && !this.#mayBeArchived(partition, message.id)))
      return false;
    this.#resolver.request(message.id, message, false);
    return true;
  }

  /** Commands that may end a generation always query the archive, because the fingerprint may be deleted before the generation. */
  #wasNeverArchived(partition: number, command: PartitionCommand): boolean {
    return !changesCompleted(command) && !this.#mayBeArchived(partition, command.id);
  }

  /** While a look-up of the invocation is under way, later messages wait behind it to keep their order. */
  #mayBeArchived(partition: number, id: InvocationId): boolean {
    return this.#resolver.isRequested(id) || this.#ids.get(partition)?.mayHave(id) !== false;
  }

  /** True: the message waits behind an earlier one of its producer, which was set aside. */
  waitsBehind(message: MailboxMessageOf<"delivery">): boolean {
    return !this.#resolver.isChecked(message) && this.#resolver.waitsBehind(message.producer, message);
  }

  /** Calls back when no retention timer that fired waits for the archive any more. */
  whenTimersAreIn(done: () => void): void {
    if (this.#timersAside === 0) done();
    else this.#timersDone.push(done); // Timers whose deletion is not durable yet would be read again.
  }

  #answered(id: InvocationId, messages: readonly MailboxMessage[], archived: ArchivedInvocation | undefined): void {
    const { clock, commits, leaderPartitions: all, open, post } = this.#ports;
    const leader = all.of(id);
    if (leader === undefined || this.#ports.isClosed()) return;
    leader.view.nowMs = clock.nowMs();
    if (archived !== undefined) leader.cache?.show(archived.invocation, archived.entries);
    for (const message of messages) {
      open(message);
      if (message.kind === "command" && message.command.kind === "timerFired") this.#timersAside--;
    }
    if (archived !== undefined) open({ kind: "hide", invocation: archived.invocation, entryCount: archived.entries.length });
    for (const message of messages) {
      if (message.kind !== "delivery") continue;
      for (const next of this.#resolver.release(message.producer)) open(next);
    }
    if (this.#timersAside === 0) for (const done of this.#timersDone.splice(0)) post({ kind: "barrier", passed: done });
    commits.write();
  }

  // ── eviction and deletion ───────────────────────────────────────────────────────────────────────

  /** A completed invocation was deleted or changed: the archive may still have its former record. */
  noteChange(view: LiveView, before: Completed): void {
    const after = view.invocation(before.facts.id);
    if (after === before) return;
    if (after?.status === "completed") {
      // The invocation is kept here again, and archived again later; its timer was deleted when it was archived.
      const timer = purgeTimer(after);
      view.mutate({ kind: "putTimer", timer });
      view.effect({ kind: "armTimer", timer });
    } else {
      const stateKey = this.#resolver.markDeleted(view.partition, before);
      view.mutate({ kind: "putState", ...DELETED_GENERATIONS, stateKey, value: EMPTY_BYTES });
      this.#ports.commits.afterCommit(() => this.#resolver.noted(stateKey));
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
      this.#ports.post({ kind: "evict", partition, records, evicted });
    });
  }

  evict(message: MailboxMessageOf<"evict">): void {
    const { commits, leaderPartitions: all, read } = this.#ports;
    const leader = all.get(message.partition);
    if (leader === undefined || leader.stopped !== undefined) return message.evicted(0);
    if (leader.blocked !== undefined) return leader.blocked.push(message);
    const { view } = leader;
    const present = read(leader, message, () => message.records.map(({ id }) => view.invocation(id)));
    if (present === undefined) return;
    const evicted: InvocationId[] = [];
    for (const [index, { id, row, retainedUntilMs }] of message.records.entries()) {
      const invocation = present[index];
      if (invocation?.status !== "completed" || !bytesEqual(encodeInvocation(invocation), row)) continue;
      for (const mutation of evictionOf(invocation)) view.mutateUnseen(mutation);
      evicted.push(id);
      this.#ids.get(message.partition)?.add(id, retainedUntilMs);
    }
    this.#keepIds(view);
    view.accept(NOTHING, NOTHING);
    this.#resolver.moved(evicted);
    commits.afterCommit(() => message.evicted(evicted.length));
  }

  /** Writes new fingerprints with the batch under way. */
  #keepIds(view: LiveView): void {
    const ids = this.#ids.get(view.partition);
    if (ids === undefined) return;
    for (const stateKey of ids.expire(view.nowMs)) view.mutate({ kind: "deleteState", ...ARCHIVED_IDS, stateKey });
    for (const [stateKey, value] of ids.changed()) view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey, value });
  }

  /** Reads the ids of what was archived before the partition kept fingerprints: none in a new partition. Never rejects. */
  async #learn(partition: number): Promise<void> {
    const { archive, clock, random, logger, isClosed } = this.#ports;
    try {
      for await (const generations of archive.scan({ partition })) {
        if (isClosed()) return;
        await this.#learnt(partition, generations, false); // One page at a time, however long the turns are.
      }
      if (!isClosed()) await this.#learnt(partition, [], true);
    } catch (cause) {
      if (isClosed()) return;
      const reason = PerdureError.from(cause).detail;
      logger.warn({ partition, reason }, "archived ids could not be read; calls with keys wait for the archive");
      clock.setTimer(backoffMs(0, LEARN_AGAIN_BOUNDS, random), () => void (isClosed() || this.#learn(partition)));
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
      this.#ports.post({ kind: "learnt", partition, generations, isAll, accepted });
    });
  }

  learnt({ partition, generations, isAll, accepted }: MailboxMessageOf<"learnt">): void {
    accepted();
    const view = this.#ports.leaderPartitions.get(partition)?.view;
    const ids = this.#ids.get(partition);
    if (view === undefined || ids === undefined) return;
    for (const { id, retainedUntilMs } of generations) ids.add(id, retainedUntilMs);
    this.#keepIds(view);
    if (isAll) {
      ids.complete();
      view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey: COMPLETE, value: EMPTY_BYTES });
    }
    view.accept(NOTHING, NOTHING);
  }

  /** Returns at most `limit` deleted generations that the archive must still delete. */
  deletedGenerations(partition: number, limit: number): readonly ArchivedGeneration[] {
    return this.#resolver.deletedGenerations(partition, limit);
  }

  /** The archive has deleted these generations. */
  deletedFromArchive(partition: number, generations: readonly ArchivedGeneration[]): void {
    // At once, so that the next call of `deletedGenerations` does not return them again.
    for (const generation of generations) this.#resolver.confirmDeleted(partition, generation);
    this.#ports.post({ kind: "deletedFromArchive", partition, generations });
  }

  removeDeletionNotes({ partition, generations }: MailboxMessageOf<"deletedFromArchive">): void {
    const view = this.#ports.leaderPartitions.get(partition)?.view;
    if (view === undefined) return;
    for (const generation of generations)
      view.mutate({
        kind: "deleteState",
        ...DELETED_GENERATIONS,
        stateKey: this.#resolver.confirmDeleted(partition, generation),
      });
    view.accept(NOTHING, NOTHING);
  }
}
