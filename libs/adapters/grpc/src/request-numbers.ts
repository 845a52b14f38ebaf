/**
 * Numbers of 32 bits that identify requests on one stream. After the highest number the count starts again, since a stream may last for
 * weeks; numbers of pending requests are left out.
 */
export class RequestNumbers {
  readonly #max: number;
  #last = 0;

  /** `max`: the highest number; more than `max` requests never wait at once. */
  constructor(max = 0xffff_ffff) {
    this.#max = max;
  }

  /** The next free number, from 1. */
  next(used: { has(number: number): boolean }): number {
    do this.#last = this.#last >= this.#max ? 1 : this.#last + 1;
    while (used.has(this.#last));
    return this.#last;
  }
}
