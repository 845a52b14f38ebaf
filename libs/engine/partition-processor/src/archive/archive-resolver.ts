/**
 * Looks up invocations in the archive outside the turn: only commands whose invocation is not in the store wait for the archive.
 * Commands about one invocation share a look-up and keep their order, so that each is applied to the result of the one before it.
 * Messages of one producer keep their order, because accepting a later one confirms the earlier ones.
 *
 * The resolver also keeps the generations that were deleted here and may still be in the archive; a look-up treats them as absent.
 */
import { backoffMs, type Clock, type InvocationId, PerdureError, type Random } from "@perdure/base";
import { type Completed, isWorkflowRun, type JournalEntry, type PartitionCommand } from "@perdure/state-machine";
import {
  type Archive,
  type ArchivedGeneration,
  decodeInvocation,
  deletionNoteName,
  parseDeletionNoteName,
  retainedUntilMs,
} from "@perdure/storage";
import { ARCHIVE_PAGE, ARCHIVE_REQUESTS_MAX, ARCHIVE_RETRY_BOUNDS } from "../limits.js";

export interface ArchivedInvocation {
  readonly invocation: Completed;
  /** Read only when a message needs the journal. */
  readonly entries: readonly JournalEntry[];
}

/** A look-up under way, and the messages that wait for its result. */
interface ArchiveLookup<L> {
  readonly id: InvocationId;
  messages: L[];
  needsJournal: boolean;
  /** An invocation moved from the store to the archive after the look-up began, so that its result may be outdated. */
  isStale: boolean;
}

export interface ArchiveResolverPorts<L> {
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  /** Delivers all messages about an invocation, in their order. */
  readonly answered: (id: InvocationId, messages: readonly L[], archived: ArchivedInvocation | undefined) => void;
  /** Called with messages whose caller waits for a response when the archive fails. */
  readonly unavailable: (id: InvocationId, messages: readonly L[], reason: string) => void;
  /** Whether a caller waits for a response to the message; other messages are looked up again later. */
  readonly hasCaller: (message: L) => boolean;
}

export class ArchiveResolver<L extends object> {
  readonly #ports: ArchiveResolverPorts<L>;
  readonly #lookups = new Map<InvocationId, ArchiveLookup<L>>();
  #next: ArchiveLookup<L>[] = [];
  #isRequesting = false;
  #messageCount = 0;
  #isClosed = false;
  readonly #checked = new WeakSet<L>();
  /** Producers whose message waits, and the later messages of each. */
  readonly #held = new Map<string, L[]>();
  readonly #deleted = new Map<number, Map<string, ArchivedGeneration>>();
  /** Names of deleted generations whose note is durable. */
  readonly #noted = new Set<string>();

  constructor(ports: ArchiveResolverPorts<L>) {
    this.#ports = ports;
  }

  // ── look-ups ───────────────────────────────────────────────────────────────────────────────────

  /** Whether it is already established if the invocation is in the archive, so that no look-up is necessary. */
  isChecked(message: L): boolean {
    return this.#checked.has(message);
  }

  /** Keeps the message until the archive has responded. */
  request(id: InvocationId, message: L, needsJournal: boolean): void {
    if (this.#messageCount >= ARCHIVE_REQUESTS_MAX && this.#ports.hasCaller(message))
      return this.#ports.unavailable(id, [message], "too many questions wait for the archive");
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
    const lookup: ArchiveLookup<L> = { id, messages: [message], needsJournal, isStale: false };
    this.#lookups.set(id, lookup);
    this.#enqueue(lookup);
  }

  /** Whether a message waits for a look-up of this invocation. */
  isRequested(id: InvocationId): boolean {
    return this.#lookups.has(id);
  }

  /** These invocations left the store for the archive. */
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

  #enqueue(lookup: ArchiveLookup<L>): void {
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

  async #find(lookups: readonly ArchiveLookup<L>[]): Promise<ReadonlyMap<InvocationId, ArchivedInvocation & ArchivedGeneration>> {
    const { archive, clock } = this.#ports;
    const archivedById = new Map<InvocationId, ArchivedInvocation & ArchivedGeneration>();
    const needsJournal = new Set(lookups.filter((each) => each.needsJournal).map(({ id }) => id));
    for (const { id, retainedUntilMs, expires, row } of await archive.find(lookups.map((each) => each.id))) {
      if (expires && retainedUntilMs <= clock.nowMs()) continue;
      const invocation = decodeInvocation(row) as Completed;
      const entries = needsJournal.has(id) ? await archive.journal(id) : [];
      if (needsJournal.has(id) && entries.length !== invocation.journal.length)
        throw new PerdureError("STO0001", "the invocation changed while it was read");
      archivedById.set(id, { id, retainedUntilMs, invocation, entries });
    }
    return archivedById;
  }

  #resolve(lookup: ArchiveLookup<L>, archived: (ArchivedInvocation & ArchivedGeneration) | undefined): void {
    if (lookup.isStale) return this.#enqueueAgain(lookup);
    this.#lookups.delete(lookup.id);
    this.#messageCount -= lookup.messages.length;
    for (const message of lookup.messages) this.#checked.add(message);
    const isGone = archived !== undefined && this.#isDeleted(archived);
    this.#ports.answered(lookup.id, lookup.messages, isGone ? undefined : archived);
  }

  #failed(lookup: ArchiveLookup<L>, reason: string): void {
    const { hasCaller, unavailable, clock, random } = this.#ports;
    const rejected = lookup.messages.filter(hasCaller);
    lookup.messages = lookup.messages.filter((message) => !hasCaller(message));
    this.#messageCount -= rejected.length;
    if (lookup.messages.length === 0) this.#lookups.delete(lookup.id);
    else
      clock.setTimer(backoffMs(0, ARCHIVE_RETRY_BOUNDS, random), () => {
        if (!this.#isClosed) this.#enqueue(lookup);
      });
    if (rejected.length > 0) unavailable(lookup.id, rejected, reason);
  }

  #enqueueAgain(lookup: ArchiveLookup<L>): void {
    this.#next.push(lookup);
  }

  // ── messages of a producer, in their order ─────────────────────────────────────────────────────

  hold(producer: string): void {
    if (!this.#held.has(producer)) this.#held.set(producer, []);
  }

  /** True: the message waits behind an earlier one of its producer. */
  waitsBehind(producer: string, message: L): boolean {
    const waiting = this.#held.get(producer);
    if (waiting === undefined) return false;
    waiting.push(message);
    return true;
  }

  /** Returns the messages that came after a message that continues now. */
  release(producer: string): readonly L[] {
    const waiting = this.#held.get(producer) ?? [];
    this.#held.delete(producer);
    return waiting;
  }

  // ── deleted generations ────────────────────────────────────────────────────────────────────────

  /** Takes over the names noted by a former leader, see `DELETED_GENERATIONS`. */
  recover(partition: number, names: Iterable<string>): void {
    for (const name of names) {
      this.#deletedOf(partition).set(name, parseDeletionNoteName(name));
      this.#noted.add(name);
    }
  }

  /** Returns the name under which the store must note the deletion. */
  markDeleted(partition: number, invocation: Completed): string {
    const generation = { id: invocation.facts.id, retainedUntilMs: retainedUntilMs(invocation) };
    const name = deletionNoteName(generation.id, generation.retainedUntilMs);
    this.#deletedOf(partition).set(name, generation);
    return name;
  }

  /** The note is durable in the store: the generation is over after any crash. */
  noted(name: string): void {
    this.#noted.add(name);
  }

  /** Returns at most `limit` generations that the archive must delete. */
  deletedGenerations(partition: number, limit: number): readonly ArchivedGeneration[] {
    const generations: ArchivedGeneration[] = [];
    for (const [name, generation] of this.#deletedOf(partition)) {
      if (this.#noted.has(name)) generations.push(generation);
      if (generations.length === limit) break;
    }
    return generations;
  }

  /** The archive has deleted the generation; returns the name of its note. */
  confirmDeleted(partition: number, { id, retainedUntilMs }: ArchivedGeneration): string {
    const name = deletionNoteName(id, retainedUntilMs);
    this.#deletedOf(partition).delete(name);
    this.#noted.delete(name);
    return name;
  }

  #isDeleted({ id, retainedUntilMs }: ArchivedGeneration): boolean {
    const name = deletionNoteName(id, retainedUntilMs);
    for (const generations of this.#deleted.values()) if (generations.has(name)) return true;
    return false;
  }

  #deletedOf(partition: number): Map<string, ArchivedGeneration> {
    let generations = this.#deleted.get(partition);
    if (generations === undefined) {
      generations = new Map();
      this.#deleted.set(partition, generations);
    }
    return generations;
  }
}

/**
 * Whether the command has a different result for an archived invocation than for a missing one. Most have not: commands to a completed
 * invocation are dropped, and so are those to a missing one.
 */
export function needsArchive(command: PartitionCommand, isAnswered: boolean): boolean {
  switch (command.kind) {
    case "invoke": {
      const { idempotencyKey, target } = command.facts;
      // As in the core: a random id that is submitted for the first time cannot exist yet.
      return idempotencyKey !== undefined || command.resubmission === true || isWorkflowRun(target);
    }
    case "attach":
    case "queryOutput":
    case "restartAsNew":
      return true;
    case "cancel":
    case "kill":
    case "pause":
    case "resume":
      return isAnswered;
    case "purge":
    case "purgeJournal":
    case "timerFired":
      return changesCompleted(command);
    default:
      return false;
  }
}

/** Whether the command may delete a completed invocation or its journal. */
export function changesCompleted(command: PartitionCommand): boolean {
  if (command.kind === "timerFired") return command.timer.kind === "purge" || command.timer.kind === "purgeJournal";
  return command.kind === "purge" || command.kind === "purgeJournal";
}
