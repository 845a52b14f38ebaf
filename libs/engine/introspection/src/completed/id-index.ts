/** Finds rows by their ids: a hash table of row numbers, a tenth of the memory of a `Map` of texts. */
import type { TextColumn } from "../column.js";

/** Slots for each row, at least. A power of two. */
const SLOTS_PER_ROW = 2;
const SLOTS_MIN = 1024;

export class IdIndex {
  readonly #ids: TextColumn;
  /** Row number + 1; 0 where nothing is. A power of two in length. */
  #slots = new Int32Array(SLOTS_MIN);
  /** Rows of `ids` that are in the table. */
  #rowCount = 0;

  constructor(ids: TextColumn) {
    this.#ids = ids;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** Adds the rows that `ids` has received since the last call. */
  extend(): void {
    const { length } = this.#ids;
    if (length * SLOTS_PER_ROW > this.#slots.length) {
      let slots = this.#slots.length;
      while (slots < length * SLOTS_PER_ROW) slots *= 2;
      this.#slots = new Int32Array(slots);
      this.#rowCount = 0;
    }
    for (; this.#rowCount < length; this.#rowCount++) this.#add(this.#rowCount);
  }

  /** The row of an id for which `isLive` holds; −1 when there is none. */
  find(id: Uint8Array, isLive: (row: number) => boolean): number {
    const { data } = this.#ids;
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(id, 0, id.length) & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const row = this.#slots[slot]! - 1;
      const start = this.#ids.startOf(row);
      if (this.#ids.ends[row]! - start !== id.length || !isLive(row)) continue;
      let at = 0;
      while (at < id.length && data[start + at] === id[at]) at++;
      if (at === id.length) return row;
    }
    return -1;
  }

  #add(row: number): void {
    const mask = this.#slots.length - 1;
    let slot = hashOf(this.#ids.data, this.#ids.startOf(row), this.#ids.ends[row]!) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = row + 1;
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash ^ (hash >>> 15);
}
