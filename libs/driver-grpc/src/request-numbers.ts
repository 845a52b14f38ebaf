/**
 * Why: requests on a stream are told apart by a number of 32 bits. A stream that lives for weeks counts past the end and begins
 * again; numbers of requests that still wait are left out.
 */
export class RequestNumbers {
  readonly #max: number;
  #last = 0;

  /** `max`: the highest number; more than `max` requests never wait at once. */
  constructor(max = 0xffff_ffff) {
    this.#max = max;
  }

  /** From 1 on. */
  next(used: { has(number: number): boolean }): number {
    do this.#last = this.#last >= this.#max ? 1 : this.#last + 1;
    while (used.has(this.#last));
    return this.#last;
  }
}
