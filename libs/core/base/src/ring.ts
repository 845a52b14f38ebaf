/** A queue whose `shift` does not move the rest; `Array.shift` on a long array costs a copy for each item. */

const INITIAL_SLOTS = 16;

/** First in, first out; grows by doubling, and keeps its memory. The user of a ring bounds its length. */
export class Ring<T> {
  #slots: (T | undefined)[] = new Array<T | undefined>(INITIAL_SLOTS).fill(undefined);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = item;
    this.#length++;
  }

  /** Removes and returns the oldest item; `undefined` when empty. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined; // Release the reference, so that the item can be collected.
    this.#head = (this.#head + 1) & (this.#slots.length - 1);
    this.#length--;
    return item;
  }

  /** The oldest item, left in place. */
  peek(): T | undefined {
    return this.#length === 0 ? undefined : this.#slots[this.#head];
  }

  clear(): void {
    this.#slots = new Array<T | undefined>(INITIAL_SLOTS).fill(undefined);
    this.#head = 0;
    this.#length = 0;
  }

  /** Iterates oldest first, including items pushed meanwhile; do not `shift` inside the loop. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let i = 0; i < this.#length; i++) yield this.#slots[(this.#head + i) & (this.#slots.length - 1)] as T;
  }

  #grow(): void {
    const slots = new Array<T | undefined>(this.#slots.length * 2).fill(undefined);
    for (let i = 0; i < this.#length; i++) slots[i] = this.#slots[(this.#head + i) & (this.#slots.length - 1)];
    this.#slots = slots;
    this.#head = 0;
  }
}
