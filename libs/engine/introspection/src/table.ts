/** A `sys_*` table: a list of columns and an iterator of rows, so that one piece of code can filter, bound and project all tables. */
import { invariant, present } from "@perdure/base";
import type { AnyColumn } from "./column.js";
import { PAGE_ROWS } from "./limits.js";
import type { IntrospectionSource } from "./ports.js";
import type { ScanHints } from "./query/hints.js";
import { columnsOf, type TableName } from "./schema.js";

/** Types of introspection-sql.md §1 in short; timestamps and durations are whole milliseconds. */
export const COLUMN_TYPES = ["text", "u32", "u64", "bool", "bytes", "timestamp", "duration", "u32List", "textList"] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** Undefined is NULL. A `u64` may be a number while that is exact. */
export type SqlValue = string | number | bigint | boolean | Uint8Array | readonly number[] | readonly string[] | undefined;

export interface ColumnHeader {
  readonly name: string;
  readonly type: ColumnType;
}

/** Rows that are loaded together; one of them is the current one. */
export interface RowPage {
  readonly rowCount: number;
  /** Makes a row the current one. */
  go(row: number): void;
  /** Value of a column, given by its index, of the current row. */
  read(column: number): SqlValue;
  /** Appends that value to a buffer of the column's type; decoded only as far as the buffer needs it. */
  append(column: number, into: AnyColumn): void;
  /** Set when whole columns may be at hand, which costs far less than one row after the other. */
  readonly columnar?: ColumnarRows;
}

/** Rows of which some columns are at hand. */
export interface ColumnarRows {
  /** The page's rows, ascending: their numbers for `go`, and their places in the columns. */
  readonly rows: Int32Array;
  /**
   * A column of all rows, given by its index, of which `rowsNeeded` values are needed. Undefined when the values have to be read row by
   * row.
   */
  column(index: number, rowsNeeded: number): AnyColumn | undefined;
}

export interface SqlTable {
  readonly name: string;
  readonly columns: readonly ColumnHeader[];
  /**
   * Rows in no particular order, each page valid until the next one is requested. Hints narrow what is read where that is cheap; rows
   * that do not match may still appear. Values are decoded only when they are read.
   */
  scan(source: IntrospectionSource, hints: ScanHints): AsyncIterable<RowPage>;
}

/** Functions that read a column's value from a row, by column name; columns without a reader are NULL. */
export type Readers<Row> = { readonly [column: string]: (row: Row) => SqlValue };

interface TableDefinition<Row> {
  readonly name: TableName;
  readonly readers: Readers<Row>;
  /** Each row keeps its values when the next page is requested. */
  rows(source: IntrospectionSource, hints: ScanHints): AsyncIterable<Row> | Iterable<Row>;
}

export function defineTable<Row>({ name, readers, rows }: TableDefinition<Row>): SqlTable {
  const columns = columnsOf(name);
  const reads = readersByIndex(name, columns, readers);
  return {
    name,
    columns,
    async *scan(source, hints) {
      // A statement that stops at a LIMIT should have read little.
      const pageRows = Math.min(PAGE_ROWS, Math.max(hints.limit ?? PAGE_ROWS, 1));
      let page: Row[] = [];
      for await (const row of rows(source, hints)) {
        page.push(row);
        if (page.length < pageRows) continue;
        yield new ObjectPage(page, reads);
        page = [];
      }
      if (page.length > 0) yield new ObjectPage(page, reads);
    },
  };
}

/** Throws when a reader belongs to no column. */
export function readersByIndex<Row>(
  name: string,
  columns: readonly ColumnHeader[],
  readers: Readers<Row>,
): readonly (((row: Row) => SqlValue) | undefined)[] {
  const reads = columns.map((column) => readers[column.name]);
  const readerCount = reads.filter((read) => read !== undefined).length;
  invariant(readerCount === Object.keys(readers).length, `every reader of ${name} belongs to a column`);
  return reads;
}

class ObjectPage<Row> implements RowPage {
  readonly #rows: readonly Row[];
  readonly #reads: readonly (((row: Row) => SqlValue) | undefined)[];
  #row = 0;

  constructor(rows: readonly Row[], reads: readonly (((row: Row) => SqlValue) | undefined)[]) {
    this.#rows = rows;
    this.#reads = reads;
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  go(row: number): void {
    this.#row = row;
  }

  read(column: number): SqlValue {
    return this.#reads[column]?.(present(this.#rows[this.#row]));
  }

  append(column: number, into: AnyColumn): void {
    into.push(this.read(column));
  }
}
