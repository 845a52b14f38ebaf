/**
 * A binary heap in which any item can be moved and removed in O(log n). Items store their own index, in a field whose name is given to
 * the heap, so that one item can be in several heaps.
 */
import { present } from "@perdure/base";

type Placed<Place extends string> = { [P in Place]: number };

/** The index of an item that is in no heap. */
export const NOWHERE = -1;

export class Heap<Place extends string, T extends Placed<Place>> {
  readonly #items: T[] = [];
  readonly #place: Place;
  readonly #before: (a: T, b: T) => boolean;

  constructor(place: Place, before: (a: T, b: T) => boolean) {
    this.#place = place;
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Returns the items in no particular order. */
  items(): readonly T[] {
    return this.#items;
  }

  has(item: T): boolean {
    const at: number = item[this.#place];
    return at !== NOWHERE;
  }

  push(item: T): void {
    this.#put(this.#items.length, item);
    this.#up(item);
  }

  remove(item: T): void {
    const at: number = item[this.#place];
    const last = this.#items.pop();
    this.#note(item, NOWHERE);
    if (last === undefined || last === item) return;
    this.#put(at, last);
    this.moved(last);
  }

  /** Restores the order after the item's own order has changed. */
  moved(item: T): void {
    this.#up(item);
    this.#down(item);
  }

  /** Restores the order after the order of any items has changed. */
  reorder(): void {
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#down(present(this.#items[at]));
  }

  #up(item: T): void {
    let at: number = item[this.#place];
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = this.#items[parentAt];
      if (parent === undefined || !this.#before(item, parent)) break;
      this.#put(at, parent);
      at = parentAt;
    }
    this.#put(at, item);
  }

  #down(item: T): void {
    const { length } = this.#items;
    let at: number = item[this.#place];
    for (;;) {
      let childAt = 2 * at + 1;
      let child = childAt < length ? this.#items[childAt] : undefined;
      if (child === undefined) break;
      const right = childAt + 1 < length ? this.#items[childAt + 1] : undefined;
      if (right !== undefined && this.#before(right, child)) {
        child = right;
        childAt++;
      }
      if (!this.#before(child, item)) break;
      this.#put(at, child);
      at = childAt;
    }
    this.#put(at, item);
  }

  #put(at: number, item: T): void {
    this.#items[at] = item;
    this.#note(item, at);
  }

  #note(item: T, at: number): void {
    const placed: Placed<Place> = item;
    placed[this.#place] = at;
  }
}
