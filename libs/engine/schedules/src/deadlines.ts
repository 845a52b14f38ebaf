/** A heap of deadlines of schedules, the earliest first, so that ten thousand schedules need one timer. */
import { present } from "@perdure/base";

interface DeadlineEntry<Id> {
  readonly atMs: number;
  readonly id: Id;
}

/** One deadline per id. Replaced deadlines stay in the heap until they reach the top or there are too many of them. */
export class Deadlines<Id> {
  readonly #heap: DeadlineEntry<Id>[] = [];
  readonly #current = new Map<Id, DeadlineEntry<Id>>();

  get size(): number {
    return this.#current.size;
  }

  set(id: Id, atMs: number): void {
    const entry = { atMs, id };
    this.#current.set(id, entry);
    if (this.#heap.length >= 2 * this.#current.size + 16) this.#rebuild();
    else this.#insert(entry);
  }

  /** Sets the deadline of the id like `set`, unless the id has an earlier one. */
  setEarlier(id: Id, atMs: number): void {
    const existing = this.#current.get(id);
    if (existing === undefined || existing.atMs > atMs) this.set(id, atMs);
  }

  delete(id: Id): void {
    this.#current.delete(id);
  }

  /** The earliest deadline. */
  get firstMs(): number | undefined {
    this.#dropStale();
    return this.#heap[0]?.atMs;
  }

  /** Removes and returns an id whose deadline is due. */
  takeDue(nowMs: number): Id | undefined {
    this.#dropStale();
    const first = this.#heap[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    this.#removeFirst();
    this.#current.delete(first.id);
    return first.id;
  }

  #dropStale(): void {
    for (let first = this.#heap[0]; first !== undefined && this.#current.get(first.id) !== first; first = this.#heap[0]) {
      this.#removeFirst();
    }
  }

  #rebuild(): void {
    this.#heap.length = 0;
    for (const entry of this.#current.values()) this.#insert(entry);
  }

  #insert(entry: DeadlineEntry<Id>): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = present(heap[parent]);
      if (above.atMs <= entry.atMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && right.atMs < present(heap[child]).atMs) child++;
      const below = present(heap[child]);
      if (below.atMs >= last.atMs) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}
