/** A journal that a reader does not want to have in memory as a whole. */
import type { JournalEntry } from "@perdure/state-machine";

/** Thrown by `readJournal` with a bound: the entries have more bytes than that. */
export class JournalTooLarge extends Error {
  override readonly name = "JournalTooLarge";
  readonly bytesMax: number;

  constructor(bytesMax: number) {
    super(`the journal has more than ${bytesMax} bytes`);
    this.bytesMax = bytesMax;
  }
}

/** Adds up the bytes of entries while they are read. */
export class JournalBytes {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax;
  }

  get read(): number {
    return this.#bytes;
  }

  /** Throws `JournalTooLarge` once the entries have more bytes than the bound. */
  add(body: Uint8Array): void {
    this.#bytes += body.length;
    if (this.#bytes > this.#bytesMax) throw new JournalTooLarge(this.#bytesMax);
  }
}

/** The entries; throws `JournalTooLarge` when they have more bytes than the bound. */
export function boundedEntries(entries: readonly JournalEntry[], bytesMax: number | undefined): readonly JournalEntry[] {
  const bytes = new JournalBytes(bytesMax);
  for (const { body } of entries) bytes.add(body);
  return entries;
}
