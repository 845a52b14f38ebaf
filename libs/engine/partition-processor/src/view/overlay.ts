/**
 * Rows that are applied but not yet durable, in two layers: `pending` joins the next commit, `inFlight` is being written. Reads check
 * these first and the store afterwards.
 */
const ABSENT = Symbol("absent");

/** Undoes the writes of the present command when it has to be applied again. */
export class UndoLog {
  readonly #steps: unknown[] = [];

  note<V>(rows: Map<string, V>, key: string): void {
    const before = rows.get(key);
    this.#steps.push(rows, key, before === undefined ? ABSENT : before);
  }

  /** Keeps the writes of the command. */
  clear(): void {
    if (this.#steps.length > 0) this.#steps.length = 0;
  }

  rollBack(): void {
    for (let i = this.#steps.length - 3; i >= 0; i -= 3) {
      const rows = this.#steps[i] as Map<string, unknown>;
      const key = this.#steps[i + 1] as string;
      const before = this.#steps[i + 2];
      if (before === ABSENT) rows.delete(key);
      else rows.set(key, before);
    }
    this.#steps.length = 0;
  }
}

/** One table. `null` is a deleted row, `undefined` one that the overlay does not contain. */
export class Overlay<V> {
  #pending = new Map<string, V | null>();
  #inFlight = new Map<string, V | null>();
  readonly #undo: UndoLog;

  constructor(undo: UndoLog) {
    this.#undo = undo;
  }

  get(key: string): V | null | undefined {
    const value = this.#pending.get(key);
    if (value !== undefined) return value;
    return this.#inFlight.size === 0 ? undefined : this.#inFlight.get(key);
  }

  set(key: string, value: V | null): void {
    this.#undo.note(this.#pending, key);
    this.#pending.set(key, value);
  }

  /** Marks the pending rows as those that are being written. */
  seal(): void {
    const drained = this.#inFlight;
    this.#inFlight = this.#pending;
    this.#pending = drained;
  }

  /**
   * The batch under way is durable. Its rows are dropped with their map: a map that is cleared leaves its old table behind, which
   * points to the next one, and once one of them has reached the old generation, the garbage collector retains all that follow, rows
   * included.
   */
  markDurable(): void {
    if (this.#inFlight.size > 0) this.#inFlight = new Map();
  }

  inFlight(): ReadonlyMap<string, V | null> {
    return this.#inFlight;
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0 && this.#inFlight.size === 0;
  }

  /** Yields the rows of both layers, with the newest value of each. */
  *rows(): Iterable<[string, V | null]> {
    for (const row of this.#inFlight) if (!this.#pending.has(row[0])) yield row;
    yield* this.#pending;
  }
}
