/**
 * Why: every `sys_*` table is the same thing, a list of columns and a way to walk the rows, so that one piece of code can
 * filter, bound and project all of them.
 */
import { invariant } from "@perdure/base";
import type { IntrospectionSource } from "./ports.js";
import type { ScanHints } from "./query/hints.js";
import { columnsOf, type TableName } from "./schema.js";

/** introspection-sql.md §1 in short; timestamps and durations are whole milliseconds. */
export type ColumnType = "text" | "u32" | "u64" | "bool" | "bytes" | "timestamp" | "duration" | "u32List" | "textList";

/** Undefined is NULL. A `u64` may be given as a number while that is exact. */
export type Cell = string | number | bigint | boolean | Uint8Array | readonly number[] | readonly string[] | undefined;

export interface ColumnHeader {
  readonly name: string;
  readonly type: ColumnType;
}

/** Reads the value of a column, given by its index, of the row at hand. */
export type CellReader = (column: number) => Cell;

export interface Table {
  readonly name: string;
  readonly columns: readonly ColumnHeader[];
  /**
   * Rows in no particular order, each valid until the next is asked for. Hints narrow what is read where that is cheap;
   * rows that do not match may still appear. Values are made only when they are read.
   */
  scan(source: IntrospectionSource, hints: ScanHints): AsyncIterable<CellReader>;
}

/** How columns read their values off a row, by name; columns without a reader are NULL. */
export type Readers<Row> = { readonly [column: string]: (row: Row) => Cell };

export interface TableDefinition<Row> {
  readonly name: TableName;
  readonly readers: Readers<Row>;
  rows(source: IntrospectionSource, hints: ScanHints): AsyncIterable<Row> | Iterable<Row>;
}

export function defineTable<Row>({ name, readers, rows }: TableDefinition<Row>): Table {
  const columns = columnsOf(name);
  const reads = columns.map((column) => readers[column.name]);
  const known = reads.filter((read) => read !== undefined).length;
  invariant(known === Object.keys(readers).length, `every reader of ${name} belongs to a column`);
  return {
    name,
    columns,
    async *scan(source, hints) {
      let current: Row | undefined;
      const reader: CellReader = (column) => reads[column]?.(current as Row);
      for await (const row of rows(source, hints)) {
        current = row;
        yield reader;
      }
    },
  };
}
