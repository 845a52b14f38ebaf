/** The limit on attempts at the same time: who finds no slot waits in the order of asking. */
import { Ring } from "@perdure/base";

export interface SlotUser {
  /** A slot is yours; give it back with `release`. False: not wanted any more, the next one gets it. */
  slotGranted(): boolean;
}

export class Slots {
  #free: number;
  #granting = false;
  readonly #waiting = new Ring<SlotUser>();

  constructor(count: number) {
    this.#free = count;
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

  /** An attempt that fails at once releases inside the grant; the loop goes on from here, so that many of them do not pile up on the stack. */
  #grant(): void {
    if (this.#granting) return;
    this.#granting = true;
    while (this.#free > 0 && this.#waiting.length > 0) {
      this.#free--;
      if (!this.#waiting.shift()!.slotGranted()) this.#free++;
    }
    this.#granting = false;
  }
}
