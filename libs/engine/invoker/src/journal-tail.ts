/**
 * The journal of a run between its attempts: its length, and the whole of it for the next attempt. Entries that are stored while an
 * attempt waits for a slot or reads are appended to the entries that were handed over or read, so that no entry is lost or duplicated.
 */
import type { EntryStored, Invoked, JournalEntry } from "@perdure/state-machine";
import { HELD_JOURNAL_BYTES_MAX } from "./limits.js";

/** Never appended to. */
const NONE: JournalEntry[] = [];

export class JournalTail {
  #length: number;
  #lastStoredAtMs: number;
  /** The whole journal, while it is in memory. */
  #handed: readonly JournalEntry[] | undefined;
  #readLength = -1;
  /** Entries stored after the first `#readLength` entries since the read began. */
  #arrived: JournalEntry[] = NONE;

  constructor({ journal, modifiedAtMs }: Invoked, handed: readonly JournalEntry[] | undefined) {
    this.#length = journal.length;
    this.#lastStoredAtMs = modifiedAtMs;
    this.#handed = handed;
  }

  /** Number of entries that are durable. */
  get length(): number {
    return this.#length;
  }

  get lastStoredAtMs(): number {
    return this.#lastStoredAtMs;
  }

  /** Records every stored entry, whether or not an attempt receives it. */
  stored({ index, entry }: EntryStored): void {
    this.#lastStoredAtMs = entry.appendedAtMs;
    if (this.#readLength >= 0 && index === this.#readLength + this.#arrived.length) this.#arrived.push(entry);
    if (this.#handed !== undefined) this.#handed = index === this.#length ? [...this.#handed, entry] : undefined;
    if (index >= this.#length) this.#length = index + 1;
  }

  /** Many runs may wait for a slot; together they must not hold in memory what the store keeps anyway. */
  waitLong(): void {
    let size = 0;
    for (const entry of this.#handed ?? NONE) size += entry.body.length;
    if (size > HELD_JOURNAL_BYTES_MAX) this.#handed = undefined;
  }

  /** Returns the journal if it is in memory, and drops it here. */
  take(): readonly JournalEntry[] | undefined {
    const handed = this.#handed;
    this.#handed = undefined;
    return handed;
  }

  /** Number of entries to read; from now on new entries are kept until `endReading`. */
  beginReading(): number {
    this.#readLength = this.#length;
    this.#arrived = [];
    return this.#length;
  }

  /** The entries that were read and those stored since; undefined when the read returned another number of entries than requested. */
  endReading(read: readonly JournalEntry[]): readonly JournalEntry[] | undefined {
    const arrived = this.#arrived;
    const complete = read.length === this.#readLength;
    this.#readLength = -1;
    this.#arrived = NONE;
    if (!complete) return undefined;
    return arrived.length === 0 ? read : [...read, ...arrived];
  }
}
