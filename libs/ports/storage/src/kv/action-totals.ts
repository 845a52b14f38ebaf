/** Durable totals of the meters of several writers, in memory that the threads of a process share. */
const LONGS_EACH = 2;
const ACTIONS = 0;
const IS_OPEN = 1;

export class ActionTotals {
  /** Pass it to the other threads, for `new ActionTotals(buffer)`. */
  readonly buffer: SharedArrayBuffer;
  readonly #longs: BigInt64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#longs = new BigInt64Array(buffer);
  }

  static ofWriters(count: number): ActionTotals {
    return new ActionTotals(new SharedArrayBuffer(count * LONGS_EACH * BigInt64Array.BYTES_PER_ELEMENT));
  }

  /** Sum of all writers. */
  get actions(): number {
    let sum = 0;
    for (let at = ACTIONS; at < this.#longs.length; at += LONGS_EACH) sum += Number(Atomics.load(this.#longs, at));
    return sum;
  }

  set(writer: number, actions: number): void {
    Atomics.store(this.#longs, writer * LONGS_EACH + ACTIONS, BigInt(actions));
  }

  /** Call it before a writer writes, and when it writes no more. */
  setOpen(writer: number, isOpen: boolean): void {
    Atomics.store(this.#longs, writer * LONGS_EACH + IS_OPEN, isOpen ? 1n : 0n);
  }

  /** Whether a writer other than writer 0 may write. */
  get areOthersOpen(): boolean {
    for (let at = LONGS_EACH + IS_OPEN; at < this.#longs.length; at += LONGS_EACH)
      if (Atomics.load(this.#longs, at) !== 0n) return true;
    return false;
  }
}
