/** The limit on attempts at the same time: who finds no slot waits in the order of asking. While held, nobody is given one. */
import { Ring } from "@perdure/base";

export interface SlotUser {
  /** When it began to wait, by the wall clock. */
  readonly queuedAtMs: number;
  /** A slot is yours; give it back with `release`. False: not wanted any more, the next one gets it. */
  slotGranted(): boolean;
}

export class Slots {
  /** How many attempts may run. */
  readonly limit: number;
  #free: number;
  #granting = false;
  #isHeld = false;
  readonly #waiting = new Ring<SlotUser>();

  constructor(count: number) {
    this.limit = count;
    this.#free = count;
  }

  get used(): number {
    return this.limit - this.#free;
  }

  /** Who waits for a slot; some may have lost interest meanwhile. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Since when the first in line waits; undefined when nobody does. */
  get oldestQueuedAtMs(): number | undefined {
    return this.#waiting.peek()?.queuedAtMs;
  }

  /** Grants at once or later, always in order. */
  acquire(user: SlotUser): void {
    this.#waiting.push(user);
    this.#grant();
  }

  release(): void {
    this.#free++;
    this.#grant();
  }

  /** Attempts that have a slot keep it. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#grant();
  }

  /** An attempt that fails at once releases inside the grant; the loop goes on from here, so that many of them do not pile up on the stack. */
  #grant(): void {
    if (this.#granting) return;
    this.#granting = true;
    while (!this.#isHeld && this.#free > 0 && this.#waiting.length > 0) {
      this.#free--;
      if (!this.#waiting.shift()!.slotGranted()) this.#free++;
    }
    this.#granting = false;
  }
}
