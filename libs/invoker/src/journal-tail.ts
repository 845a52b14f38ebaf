/**
 * The journal of a run as seen from between its attempts: how long it is, and the whole of it for the next attempt. What is stored while
 * an attempt waits for a slot or reads goes behind what was handed over or read, so that nothing is lost and nothing comes twice.
 */
import type { EntryStored, Invoked, JournalEntry } from "@perdure/partition";
import { HELD_JOURNAL_BYTES_MAX } from "./limits.js";

/** Never pushed to. */
const NONE: JournalEntry[] = [];

export class JournalTail {
  #length: number;
  #lastStoredAtMs: number;
  /** The whole journal, while it happens to be at hand. */
  #handed: readonly JournalEntry[] | undefined;
  #readLength = -1;
  /** Stored behind the first `#readLength` entries since reading began. */
  #arrived: JournalEntry[] = NONE;

  constructor({ journal, modifiedAtMs }: Invoked, handed: readonly JournalEntry[] | undefined) {
    this.#length = journal.length;
    this.#lastStoredAtMs = modifiedAtMs;
    this.#handed = handed;
  }

  /** Entries known to be durable. */
  get length(): number {
    return this.#length;
  }

  get lastStoredAtMs(): number {
    return this.#lastStoredAtMs;
  }

  /** Takes note of every stored entry, whether an attempt hears of it or not. */
  stored({ index, entry }: EntryStored): void {
    this.#lastStoredAtMs = entry.appendedAtMs;
    if (this.#readLength >= 0 && index === this.#readLength + this.#arrived.length) this.#arrived.push(entry);
    if (this.#handed !== undefined) this.#handed = index === this.#length ? [...this.#handed, entry] : undefined;
    if (index >= this.#length) this.#length = index + 1;
  }

  /** Many runs may wait for a slot; together they must not hold what the store keeps anyway. */
  waitLong(): void {
    let size = 0;
    for (const entry of this.#handed ?? NONE) size += entry.body.length;
    if (size > HELD_JOURNAL_BYTES_MAX) this.#handed = undefined;
  }

  /** The journal if it is at hand; gives it away. */
  take(): readonly JournalEntry[] | undefined {
    const handed = this.#handed;
    this.#handed = undefined;
    return handed;
  }

  /** How many entries to read; from now on arrivals are kept until `endReading`. */
  beginReading(): number {
    this.#readLength = this.#length;
    this.#arrived = [];
    return this.#length;
  }

  /** What was read and what arrived meanwhile; undefined when it is not what was asked for. */
  endReading(read: readonly JournalEntry[]): readonly JournalEntry[] | undefined {
    const arrived = this.#arrived;
    const complete = read.length === this.#readLength;
    this.#readLength = -1;
    this.#arrived = NONE;
    if (!complete) return undefined;
    return arrived.length === 0 ? read : [...read, ...arrived];
  }
}
