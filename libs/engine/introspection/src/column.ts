/**
 * Buffers by column for the rows that a scan gathers, as bytes and numbers that the engine can copy in blocks: a JavaScript value for
 * every cell of 100,000 rows would cost more than the rest of a statement.
 */
import { fromUtf8, invariant, utf8 } from "@perdure/base";
import { CELL_BYTES_MAX } from "./limits.js";
import type { ColumnType, SqlValue } from "./table.js";

/** Rows that fit into a new buffer; its size doubles from there. */
const ROWS_MIN = 64;
const TEXT_BYTES_MIN = 1024;
/** Up to this many bytes, a loop copies faster than a call. */
const SHORT_COPY_BYTES = 64;

export type AnyColumn = TextColumn | NumberColumn | BigColumn | ListColumn;

/** Thrown by columns of texts: a value, or all values together, exceed the bound. */
export class ColumnFull extends Error {
  override readonly name = "ColumnFull";
  /** Maximum of one value; undefined when all values together exceed the bound. */
  readonly valueBytes: number | undefined;

  constructor(valueBytes: number | undefined) {
    super("a column is full");
    this.valueBytes = valueBytes;
  }
}

/** Texts of a column have at most `textBytesMax` together; more throw `ColumnFull`. */
export function newColumn(type: ColumnType, textBytesMax = Number.POSITIVE_INFINITY): AnyColumn {
  switch (type) {
    case "text":
    case "bytes":
      return new TextColumn(textBytesMax);
    case "u64":
      return new BigColumn();
    case "u32":
    case "bool":
    case "timestamp":
    case "duration":
      return new NumberColumn();
    case "u32List":
    case "textList":
      return new ListColumn();
  }
}

/** Values of one column, in the order of rows. */
abstract class ValueColumn {
  length = 0;
  hasNulls = false;
  /** One bit a row, set where there is no value; as long as the last NULL needs. */
  #nulls = new Uint8Array(0);

  /** Memory held so far, approximately. */
  abstract get bytes(): number;
  /** Appends a value; undefined is NULL. */
  abstract push(cell: SqlValue): void;
  /** Appends the value of a row of another column of this class that has a value there. */
  protected abstract pushFrom(column: this, row: number): void;
  /** Grows the buffer for a value at `length`. */
  protected abstract skip(): void;

  pushNull(): void {
    const at = this.length >> 3;
    if (at >= this.#nulls.length) this.#nulls = grown(this.#nulls, new Uint8Array(Math.max(ROWS_MIN, (at + 1) * 2)));
    this.#nulls[at] = this.#nulls[at]! | (1 << (this.length & 7));
    this.hasNulls = true;
    this.skip();
    this.length++;
  }

  /** Appends rows of another column of the same class, given by their numbers. */
  pushRows(column: this, rows: Int32Array): void {
    const { hasNulls } = column;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      if (hasNulls && column.isNull(row)) this.pushNull();
      else this.pushFrom(column, row);
    }
  }

  isNull(row: number): boolean {
    return ((this.#nulls[row >> 3] ?? 0) & (1 << (row & 7))) !== 0;
  }

  /** Bits of 8 rows from `row`, a multiple of 8; set where the row has no value. */
  nullBits(row: number): number {
    return this.#nulls[row >> 3] ?? 0;
  }
}

/** Texts as UTF-8, or bytes, concatenated. */
export class TextColumn extends ValueColumn {
  data: Uint8Array = new Uint8Array(TEXT_BYTES_MIN);
  /** End of each row's value in `data`; a value begins at the end of the value before. */
  ends: Uint32Array = new Uint32Array(ROWS_MIN);
  #size = 0;
  readonly #bytesMax: number;

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    super();
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#size + this.length * 4;
  }

  push(cell: SqlValue): void {
    if (cell === undefined) return this.pushNull();
    if (typeof cell === "string") return this.pushText(cell);
    invariant(cell instanceof Uint8Array, "a column of texts gets texts or bytes");
    this.pushBytes(cell, 0, cell.length);
  }

  pushText(text: string): void {
    const { length } = text;
    if (length > SHORT_COPY_BYTES) {
      const bytes = utf8(text);
      return this.pushBytes(bytes, 0, bytes.length);
    }
    const start = this.#size;
    this.#reserve(length);
    const { data } = this;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) {
        const bytes = utf8(text);
        return this.pushBytes(bytes, 0, bytes.length);
      }
      data[start + i] = code;
    }
    this.#size += length;
    this.#end();
  }

  /** Appends `bytes` from `start` to `end`; UTF-8 in a column of texts. */
  pushBytes(bytes: Uint8Array, start: number, end: number): void {
    this.append(bytes, start, end);
    this.#end();
  }

  /** Appends a part of the next value; `pushBytes` or `close` completes the value. */
  append(bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    if (size > CELL_BYTES_MAX) throw new ColumnFull(size);
    this.#reserve(size);
    const { data } = this;
    const at = this.#size;
    if (size <= SHORT_COPY_BYTES) for (let i = 0; i < size; i++) data[at + i] = bytes[start + i]!;
    else data.set(bytes.subarray(start, end), at);
    this.#size = at + size;
  }

  /** The value is complete. */
  close(): void {
    this.#end();
  }

  text(row: number): string {
    return fromUtf8(this.data.subarray(this.startOf(row), this.ends[row]));
  }

  /** Whether the value of a row has these bytes. */
  hasBytes(row: number, bytes: Uint8Array): boolean {
    const start = this.startOf(row);
    if (this.ends[row]! - start !== bytes.length) return false;
    const { data } = this;
    for (let i = 0; i < bytes.length; i++) if (data[start + i] !== bytes[i]) return false;
    return true;
  }

  startOf(row: number): number {
    return row === 0 ? 0 : this.ends[row - 1]!;
  }

  protected pushFrom(column: this, row: number): void {
    this.pushBytes(column.data, column.startOf(row), column.ends[row]!);
  }

  protected skip(): void {
    if (this.length >= this.ends.length) this.ends = grown(this.ends, new Uint32Array(this.length * 2));
    this.ends[this.length] = this.#size;
  }

  #end(): void {
    this.skip();
    this.length++;
  }

  #reserve(size: number): void {
    const needed = this.#size + size;
    invariant(needed < 0xffff_ffff, "the budget of a statement ends long before an offset does");
    if (needed <= this.data.length) return;
    if (needed > this.#bytesMax) throw new ColumnFull(undefined);
    this.data = grown(this.data, new Uint8Array(Math.max(needed, Math.min(this.data.length * 2, this.#bytesMax))));
  }
}

/** 32-bit numbers, booleans as 0 and 1, milliseconds. */
export class NumberColumn extends ValueColumn {
  values: Float64Array = new Float64Array(ROWS_MIN);

  get bytes(): number {
    return this.length * 8;
  }

  push(cell: SqlValue): void {
    if (cell === undefined) this.pushNull();
    else this.pushNumber(Number(cell));
  }

  pushNumber(value: number): void {
    this.skip();
    this.values[this.length++] = value;
  }

  protected pushFrom(column: this, row: number): void {
    this.pushNumber(column.values[row]!);
  }

  protected skip(): void {
    if (this.length >= this.values.length) this.values = grown(this.values, new Float64Array(this.length * 2));
  }
}

export class BigColumn extends ValueColumn {
  values: BigUint64Array<ArrayBuffer> = new BigUint64Array(ROWS_MIN);

  get bytes(): number {
    return this.length * 8;
  }

  push(cell: SqlValue): void {
    if (cell === undefined) return this.pushNull();
    this.skip();
    this.values[this.length++] = typeof cell === "bigint" ? cell : BigInt(Number(cell));
  }

  protected pushFrom(column: this, row: number): void {
    this.skip();
    this.values[this.length++] = column.values[row]!;
  }

  protected skip(): void {
    if (this.length >= this.values.length) this.values = grown(this.values, new BigUint64Array(this.length * 2));
  }
}

/** Lists are rare and short: they are kept as JavaScript values. */
export class ListColumn extends ValueColumn {
  readonly values: (readonly number[] | readonly string[] | undefined)[] = [];
  #items = 0;

  get bytes(): number {
    return this.length * 16 + this.#items * 32;
  }

  push(cell: SqlValue): void {
    if (cell === undefined) return this.pushNull();
    invariant(typeof cell === "object" && !(cell instanceof Uint8Array), "a column of lists gets lists");
    this.values[this.length++] = cell;
    this.#items += cell.length;
  }

  protected pushFrom(column: this, row: number): void {
    this.push(column.values[row]);
  }

  protected skip(): void {
    this.values[this.length] = undefined;
  }
}

/** `larger` with the values of `array` at its start. */
function grown<Values, Larger extends { set(values: Values): void }>(array: Values, larger: Larger): Larger {
  larger.set(array);
  return larger;
}
