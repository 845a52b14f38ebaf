/**
 * Tracks the rows that may be among the first ones. `ORDER BY created_at DESC LIMIT 100` needs a hundred rows of a hundred thousand: a
 * row that is worse than as many earlier rows as the LIMIT needs is dropped. Equal rows pass, because further sort keys may put them
 * first.
 */
export class TopRows {
  readonly #count: number;
  readonly #sign: number;
  /** The best keys so far as a heap, the worst key on top; keys of a descending order are negated. */
  readonly #heap: Float64Array;
  #size = 0;

  constructor(count: number, isDescending: boolean) {
    this.#count = count;
    this.#sign = isDescending ? -1 : 1;
    this.#heap = new Float64Array(count);
  }

  /** Whether a row with this key may be needed. */
  offer(value: number): boolean {
    const key = value * this.#sign;
    if (this.#count === 0) return false;
    if (this.#size < this.#count) {
      this.#up(this.#size++, key);
      return true;
    }
    const worst = this.#heap[0]!;
    if (key > worst) return false;
    if (key < worst) this.#down(key);
    return true;
  }

  /** Whether a row with this key, which was offered, may still be needed. */
  isKept(value: number): boolean {
    return this.#size < this.#count || value * this.#sign <= this.#heap[0]!;
  }

  #up(at: number, key: number): void {
    const heap = this.#heap;
    let place = at;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (heap[parent]! >= key) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = key;
  }

  /** Replaces the worst. */
  #down(key: number): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let child = place * 2 + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && heap[child + 1]! > heap[child]!) child++;
      if (heap[child]! <= key) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = key;
  }
}
