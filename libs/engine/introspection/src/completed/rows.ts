/**
 * Stored rows of completed invocations, without their results, and the columns that statements have read from them. Rows are appended; a
 * row that changes is marked as dead and appended again. Columns are made when a statement first needs them, and extended later.
 */
import { present } from "@perdure/base";
import { InvocationFields, withoutResult } from "@perdure/storage";
import { type AnyColumn, newColumn, TextColumn } from "../column.js";
import type { ColumnType } from "../table.js";
import { IdIndex } from "./id-index.js";

/** Rows are copied into blocks of this size; a larger one has a block of its own. */
const BLOCK_BYTES = 256 * 1024;
const ROWS_MIN = 1024;
/** Bytes of a row's entries in the three arrays of positions, and of its mark. */
const BYTES_PER_ROW = 13;
/** Most columns have less: a time 8, an id 42, a target some 20. */
const COLUMN_BYTES_PER_ROW = 48;
/** Dead rows beside which the living are worth a copy: a quarter of all, and some. */
const DEAD_SHARE = 0.25;
const DEAD_MIN = 4096;

/** Makes the values of a column, in which the values depend on nothing but the stored row. */
export interface RowColumn {
  readonly type: ColumnType;
  append(fields: InvocationFields, into: AnyColumn): void;
}

export class CompletedRows {
  readonly #ids = new TextColumn();
  readonly #index = new IdIndex(this.#ids);
  readonly #columns = new Map<RowColumn, AnyColumn>();
  readonly #fields = new InvocationFields();
  readonly #blocks: Uint8Array[] = [];
  #blockAt = 0;
  #blockBytes = 0;
  #blockOf = new Uint32Array(ROWS_MIN);
  #startOf = new Uint32Array(ROWS_MIN);
  #endOf = new Uint32Array(ROWS_MIN);
  #dead = new Uint8Array(ROWS_MIN);
  #deadCount = 0;

  /** Rows, those that are dead included. */
  get rowCount(): number {
    return this.#ids.length;
  }

  get bytes(): number {
    let bytes = this.#blockBytes + this.rowCount * BYTES_PER_ROW + this.#ids.bytes + this.#index.bytes;
    for (const column of this.#columns.values()) bytes += column.bytes;
    return bytes;
  }

  get hasManyDead(): boolean {
    return this.#deadCount > DEAD_MIN + this.rowCount * DEAD_SHARE;
  }

  isLive = (row: number): boolean => this.#dead[row] === 0;

  /** Copies the row. */
  append(stored: Uint8Array): void {
    const row = withoutResult(stored);
    const at = this.rowCount;
    if (at >= this.#dead.length) this.#grow(at * 2);
    if (this.#blocks.length === 0 || this.#blockAt + row.length > (this.#blocks.at(-1)?.length ?? 0)) {
      const block = new Uint8Array(Math.max(BLOCK_BYTES, row.length));
      this.#blocks.push(block);
      this.#blockBytes += block.length;
      this.#blockAt = 0;
    }
    this.#blocks.at(-1)?.set(row, this.#blockAt);
    this.#blockOf[at] = this.#blocks.length - 1;
    this.#startOf[at] = this.#blockAt;
    this.#blockAt += row.length;
    this.#endOf[at] = this.#blockAt;
    this.#fields.load(row);
    const { start, end } = this.#fields.facts.id;
    this.#ids.pushBytes(row, start, end);
  }

  /** Marks the row of an id as dead, if there is one. */
  remove(id: Uint8Array): void {
    this.#index.extend();
    const row = this.#index.find(id, this.isLive);
    if (row < 0) return;
    this.#dead[row] = 1;
    this.#deadCount++;
  }

  /** The stored row, without its result. Valid as long as this object. */
  row(at: number): Uint8Array {
    return present(this.#blocks[this.#blockOf[at]!]).subarray(this.#startOf[at], this.#endOf[at]);
  }

  /** Numbers of living rows from `from` to `to`, ascending. */
  liveRows(from: number, to: number): Int32Array {
    const rows = new Int32Array(to - from);
    let count = 0;
    for (let row = from; row < to; row++) if (this.#dead[row] === 0) rows[count++] = row;
    return rows.subarray(0, count);
  }

  /** Whether a statement has made the column. */
  hasColumn(column: RowColumn): boolean {
    return this.#columns.has(column);
  }

  /** The values of all rows. Undefined when the column is not at hand yet and all together would exceed `bytesMax`. */
  column(column: RowColumn, bytesMax: number): AnyColumn | undefined {
    let values = this.#columns.get(column);
    if (values === undefined) {
      if (this.bytes + this.rowCount * COLUMN_BYTES_PER_ROW > bytesMax) return undefined;
      values = newColumn(column.type);
      this.#columns.set(column, values);
    }
    for (let row = values.length; row < this.rowCount; row++) {
      this.#fields.load(this.row(row));
      column.append(this.#fields, values);
    }
    return values;
  }

  /** They are made again when a statement needs them. */
  dropColumns(): void {
    this.#columns.clear();
  }

  /** The living rows alone, without columns. */
  compacted(): CompletedRows {
    const copy = new CompletedRows();
    for (let row = 0; row < this.rowCount; row++) if (this.isLive(row)) copy.append(this.row(row));
    return copy;
  }

  #grow(length: number): void {
    this.#blockOf = larger(this.#blockOf, new Uint32Array(length));
    this.#startOf = larger(this.#startOf, new Uint32Array(length));
    this.#endOf = larger(this.#endOf, new Uint32Array(length));
    this.#dead = larger(this.#dead, new Uint8Array(length));
  }
}

function larger<T extends Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>(from: T, to: T): T {
  to.set(from);
  return to;
}
