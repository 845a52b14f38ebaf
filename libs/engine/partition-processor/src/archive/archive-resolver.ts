/**
 * Looks up invocations in the archive outside the turn: only commands whose invocation is not in the store wait for the archive.
 * Commands about one invocation share a look-up and keep their order, so that each is applied to the result of the one before it.
 * Messages of one producer keep their order, because accepting a later one confirms the earlier ones.
 */
import { backoffMs, type InvocationId, invariant, PerdureError } from "@perdure/base";
import type { Completed, JournalEntry } from "@perdure/state-machine";
import { type Archive, type ArchivedGeneration, decodeInvocation } from "@perdure/storage";
import { ARCHIVE_PAGE, ARCHIVE_REQUESTS_MAX, ARCHIVE_RETRY_BOUNDS } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import type { MailboxMessage, MailboxMessageOf } from "../turn/mailbox-message.js";
import type { ArchiveCoordinator } from "./archive-coordinator.js";

export interface ArchivedInvocation {
  readonly invocation: Completed;
  /** Read only when a message needs the journal. */
  readonly entries: readonly JournalEntry[];
}

/** A look-up under way, and the messages that wait for its result. */
interface ArchiveLookup {
  readonly id: InvocationId;
  messages: MailboxMessage[];
  needsJournal: boolean;
  /** The invocation moved to the archive or was deleted there after the look-up began, so that its result may be outdated. */
  isStale: boolean;
}

export class ArchiveResolver {
  readonly #group: PartitionGroup;
  readonly #archive: Archive;
  readonly #coordinator: ArchiveCoordinator;
  readonly #lookups = new Map<InvocationId, ArchiveLookup>();
  #next: ArchiveLookup[] = [];
  #isRequesting = false;
  #messageCount = 0;
  #isClosed = false;
  readonly #checked = new WeakSet<MailboxMessage>();
  /** Producers whose message waits, and the later messages of each. */
  readonly #held = new Map<string, MailboxMessageOf<"delivery">[]>();

  /** The messages about an invocation continue at `coordinator`, in their order. */
  constructor(group: PartitionGroup, archive: Archive, coordinator: ArchiveCoordinator) {
    this.#group = group;
    this.#archive = archive;
    this.#coordinator = coordinator;
  }

  // ── look-ups ───────────────────────────────────────────────────────────────────────────────────

  /** Whether it is already established if the invocation is in the archive, so that no look-up is necessary. */
  isChecked(message: MailboxMessage): boolean {
    return this.#checked.has(message);
  }

  /** Keeps the message until the archive has responded. */
  request(id: InvocationId, message: MailboxMessage, needsJournal: boolean): void {
    if (this.#messageCount >= ARCHIVE_REQUESTS_MAX && hasCaller(message))
      return this.#group.waiters.abandon(id, "too many questions wait for the archive");
    this.#messageCount++;
    const existing = this.#lookups.get(id);
    if (existing !== undefined) {
      existing.messages.push(message);
      if (needsJournal && !existing.needsJournal) {
        existing.needsJournal = true;
        existing.isStale = true; // The look-up under way does not read the journal.
      }
      return;
    }
    const lookup: ArchiveLookup = { id, messages: [message], needsJournal, isStale: false };
    this.#lookups.set(id, lookup);
    this.#enqueue(lookup);
  }

  /** Whether a message waits for a look-up of this invocation. */
  isRequested(id: InvocationId): boolean {
    return this.#lookups.has(id);
  }

  /** These invocations left the store for the archive, or were deleted there. */
  moved(ids: Iterable<InvocationId>): void {
    if (this.#lookups.size === 0) return;
    for (const id of ids) {
      const lookup = this.#lookups.get(id);
      if (lookup !== undefined) lookup.isStale = true;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#lookups.clear();
    this.#held.clear();
    this.#next = [];
  }

  #enqueue(lookup: ArchiveLookup): void {
    this.#next.push(lookup);
    if (this.#isRequesting) return;
    this.#isRequesting = true;
    // All look-ups of one turn go out together.
    queueMicrotask(() => this.#requestNext());
  }

  #requestNext(): void {
    const lookups = this.#next.splice(0, ARCHIVE_PAGE);
    if (lookups.length === 0 || this.#isClosed) {
      this.#isRequesting = false;
      return;
    }
    for (const lookup of lookups) lookup.isStale = false;
    this.#find(lookups).then(
      (archivedById) => {
        if (this.#isClosed) return;
        for (const lookup of lookups) this.#resolve(lookup, archivedById.get(lookup.id));
        this.#requestNext();
      },
      (cause: unknown) => {
        if (this.#isClosed) return;
        const reason = `the archive does not answer: ${PerdureError.from(cause).detail}`;
        for (const lookup of lookups) this.#failed(lookup, reason);
        this.#requestNext();
      },
    );
  }

  async #find(lookups: readonly ArchiveLookup[]): Promise<ReadonlyMap<InvocationId, ArchivedInvocation & ArchivedGeneration>> {
    const { clock } = this.#group.ports;
    const archivedById = new Map<InvocationId, ArchivedInvocation & ArchivedGeneration>();
    const needsJournal = new Set(lookups.filter((each) => each.needsJournal).map(({ id }) => id));
    for (const { id, retainedUntilMs, expires, row } of await this.#archive.find(lookups.map((each) => each.id))) {
      if (expires && retainedUntilMs <= clock.nowMs()) continue;
      const invocation = decodeInvocation(row);
      invariant(invocation.status === "completed", "an archive has completed invocations only");
      const entries = needsJournal.has(id) ? await this.#archive.journal(id) : [];
      if (needsJournal.has(id) && entries.length !== invocation.journal.length)
        throw new PerdureError("STO0001", "the invocation changed while it was read");
      archivedById.set(id, { id, retainedUntilMs, invocation, entries });
    }
    return archivedById;
  }

  #resolve(lookup: ArchiveLookup, archived: (ArchivedInvocation & ArchivedGeneration) | undefined): void {
    if (lookup.isStale) return this.#enqueueAgain(lookup);
    this.#lookups.delete(lookup.id);
    this.#messageCount -= lookup.messages.length;
    for (const message of lookup.messages) this.#checked.add(message);
    const leader = this.#group.leaders.of(lookup.id);
    if (leader === undefined) return;
    const isDeleted = archived !== undefined && leader.archived?.deletions.has(archived) === true;
    this.#coordinator.continue(leader, lookup.messages, isDeleted ? undefined : archived);
  }

  #failed(lookup: ArchiveLookup, reason: string): void {
    const { ports, waiters } = this.#group;
    const rejectedCount = lookup.messages.filter(hasCaller).length;
    lookup.messages = lookup.messages.filter((message) => !hasCaller(message));
    this.#messageCount -= rejectedCount;
    if (lookup.messages.length === 0) this.#lookups.delete(lookup.id);
    else
      ports.clock.setTimer(backoffMs(0, ARCHIVE_RETRY_BOUNDS), () => {
        if (!this.#isClosed) this.#enqueue(lookup);
      });
    if (rejectedCount > 0) waiters.abandon(lookup.id, reason);
  }

  #enqueueAgain(lookup: ArchiveLookup): void {
    this.#next.push(lookup);
  }

  // ── messages of a producer, in their order ─────────────────────────────────────────────────────

  hold(producer: string): void {
    if (!this.#held.has(producer)) this.#held.set(producer, []);
  }

  /** True: the message waits behind an earlier one of its producer. */
  waitsBehind(message: MailboxMessageOf<"delivery">): boolean {
    const waiting = this.#held.get(message.producer);
    if (waiting === undefined) return false;
    waiting.push(message);
    return true;
  }

  /** Returns the messages that came after a message that continues now. */
  release(producer: string): readonly MailboxMessageOf<"delivery">[] {
    const waiting = this.#held.get(producer) ?? [];
    this.#held.delete(producer);
    return waiting;
  }
}

/** Whether a caller waits for a response to the message, and gets an error when the archive fails; other messages are looked up again. */
function hasCaller(message: MailboxMessage): boolean {
  return message.kind === "inspect" || (message.kind === "command" && message.command.kind !== "timerFired");
}
