/**
 * Rows that are applied but not yet durable, in two layers: `pending` joins the next commit, `inFlight` is being written. Reads check
 * these first and the store afterwards.
 *
 * A layer's map is made with its first row and dropped with its last one. A map that waits empty reaches the old generation, and when it
 * is dropped later, collections of the young generation keep its rows, payloads included, until a full collection. A map that is cleared
 * leaves its old table behind, which points to the next one, with the same effect for all tables that follow.
 */
const ABSENT = Symbol("absent");
const NO_ROWS: ReadonlyMap<string, never> = new Map<string, never>();

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
  #pending: Map<string, V | null> | undefined;
  #inFlight: Map<string, V | null> | undefined;
  readonly #undo: UndoLog;

  constructor(undo: UndoLog) {
    this.#undo = undo;
  }

  get(key: string): V | null | undefined {
    const value = this.#pending?.get(key);
    return value === undefined ? this.#inFlight?.get(key) : value;
  }

  set(key: string, value: V | null): void {
    this.#pending ??= new Map();
    this.#undo.note(this.#pending, key);
    this.#pending.set(key, value);
  }

  /** Marks the pending rows as those that are being written. */
  seal(): void {
    this.#inFlight = this.#pending;
    this.#pending = undefined;
  }

  /** The batch under way is durable. */
  markDurable(): void {
    this.#inFlight = undefined;
  }

  inFlight(): ReadonlyMap<string, V | null> {
    return this.#inFlight ?? NO_ROWS;
  }

  get isEmpty(): boolean {
    return (this.#pending?.size ?? 0) === 0 && (this.#inFlight?.size ?? 0) === 0;
  }

  /** Yields the rows of both layers, with the newest value of each. */
  *rows(): Iterable<[string, V | null]> {
    for (const row of this.inFlight()) if (this.#pending?.has(row[0]) !== true) yield row;
    if (this.#pending !== undefined) yield* this.#pending;
  }
}
