/** Collects the columns that the engine requests from the partitions, page by page and within a bound. */
import { present } from "@perdure/base";
import { type AnyColumn, ColumnFull, NumberColumn, newColumn } from "../column.js";
import { TooMuchData, ValueTooLarge } from "../errors.js";
import type { IntrospectionSource } from "../ports.js";
import type { ColumnarRows, RowPage, SqlTable, SqlValue } from "../table.js";
import { pushRows, rowsThatPass } from "./columns.js";
import { type ColumnFilter, passes, type ScanHints } from "./hints.js";
import { TopRows } from "./top-rows.js";

/** Values of one table, by column index. */
export interface GatheredTable {
  readonly rowCount: number;
  readonly columns: ReadonlyMap<number, AnyColumn>;
}

/** The remaining budget of a statement; shared by its tables. */
export interface GatherBudget {
  bytesLeft: number;
}

/** Rejects with `TooMuchData` when the budget is used up, with the signal's reason when it is aborted. */
export async function gather(
  table: SqlTable,
  indexes: ReadonlySet<number>,
  source: IntrospectionSource,
  hints: ScanHints,
  budget: GatherBudget,
  signal: AbortSignal,
): Promise<GatheredTable> {
  const gathering = new Gathering(table, indexes, hints, budget.bytesLeft);
  if (hints.limit !== 0) {
    for await (const page of table.scan(source, { ...hints, columns: gathering.columnsRead })) {
      signal.throwIfAborted();
      const isEnough = gathering.take(page);
      if (gathering.bytes() > budget.bytesLeft) throw tooMuchOf(table);
      if (isEnough) break;
    }
  }
  budget.bytesLeft -= gathering.bytes();
  return { rowCount: gathering.rowCount, columns: gathering.columns };
}

function tooMuchOf({ name }: SqlTable): TooMuchData {
  return new TooMuchData(`the query reads too much of ${name}: select fewer columns, or narrow it by id, service or status`);
}

class Gathering {
  readonly #table: SqlTable;
  readonly columns: ReadonlyMap<number, AnyColumn>;
  /** Names of the columns whose values are read. */
  readonly columnsRead: ReadonlySet<string>;
  rowCount = 0;
  readonly #columnsNeeded: readonly (readonly [index: number, column: AnyColumn])[];
  readonly #filters: readonly { readonly index: number; readonly filter: ColumnFilter }[];
  readonly #limit: number;
  readonly #top: { readonly rows: TopRows; readonly index: number } | undefined;

  constructor(table: SqlTable, indexes: ReadonlySet<number>, { filters, limit, top }: ScanHints, bytesMax: number) {
    this.#table = table;
    const indexOf = (name: string): number => table.columns.findIndex((column) => column.name === name);
    this.columns = new Map([...indexes].map((index) => [index, newColumn(table.columns[index]?.type ?? "text", bytesMax)]));
    this.#columnsNeeded = [...this.columns];
    this.#filters = [...filters].map(([name, filter]) => ({ index: indexOf(name), filter }));
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#top = top === undefined ? undefined : { rows: new TopRows(top.count, top.isDescending), index: indexOf(top.column) };
    this.columnsRead = new Set(
      [...indexes]
        .map((index) => table.columns[index]?.name ?? "")
        .concat([...filters.keys()], top === undefined ? [] : [top.column]),
    );
  }

  /** Whether no more rows are needed. */
  take(page: RowPage): boolean {
    if (page.columnar !== undefined) return this.#takeColumns(page, page.columnar);
    const columns = this.#columnsNeeded;
    for (let row = 0; row < page.rowCount; row++) {
      page.go(row);
      if (!this.#isNeeded(page)) continue;
      for (let i = 0; i < columns.length; i++) {
        const [index, column] = present(columns[i]);
        try {
          page.append(index, column);
        } catch (cause) {
          throw cause instanceof ColumnFull ? this.#refusalOf(cause, page, index) : cause;
        }
      }
      if (++this.rowCount >= this.#limit) return true;
    }
    return false;
  }

  /** Whether no more rows are needed. */
  #takeColumns(page: RowPage, columnar: ColumnarRows): boolean {
    const passing = this.#passing(page, columnar);
    const rows = passing.subarray(0, Math.min(passing.length, this.#limit - this.rowCount));
    const apart: (readonly [index: number, column: AnyColumn])[] = [];
    let current = -1;
    try {
      for (const [index, column] of this.#columnsNeeded) {
        current = index;
        const values = columnar.column(index, rows.length);
        if (values === undefined) apart.push([index, column]);
        else pushRows(column, values, rows);
      }
      for (let i = 0; i < rows.length && apart.length > 0; i++) {
        page.go(rows[i]!);
        for (const [index, column] of apart) {
          current = index;
          page.append(index, column);
        }
      }
    } catch (cause) {
      throw cause instanceof ColumnFull ? this.#refusalOf(cause, page, current) : cause;
    }
    this.rowCount += rows.length;
    return this.rowCount >= this.#limit;
  }

  /** The rows that the filters leave, and that may be among the first ones. */
  #passing(page: RowPage, columnar: ColumnarRows): Int32Array {
    let { rows } = columnar;
    for (const { index, filter } of this.#filters) {
      const values = columnar.column(index, rows.length);
      rows =
        values === undefined
          ? rows.filter((row) => {
              page.go(row);
              return matches(page.read(index), filter);
            })
          : rowsThatPass(values, rows, filter);
    }
    const top = this.#top;
    if (top === undefined) return rows;
    const values = columnar.column(top.index, rows.length);
    const keyOf = (row: number): number | undefined => {
      if (values instanceof NumberColumn) return values.isNull(row) ? undefined : values.values[row];
      page.go(row);
      const value = page.read(top.index);
      return value === undefined ? undefined : Number(value);
    };
    for (const row of rows) {
      const key = keyOf(row);
      if (key !== undefined) top.rows.offer(key);
    }
    return rows.filter((row) => {
      const key = keyOf(row);
      return key === undefined || top.rows.isKept(key); // The engine orders NULLs.
    });
  }

  /** Memory of what was gathered. */
  bytes(): number {
    let bytes = 0;
    for (const [, column] of this.#columnsNeeded) bytes += column.bytes;
    return bytes;
  }

  #refusalOf({ valueBytes }: ColumnFull, page: RowPage, column: number): Error {
    if (valueBytes === undefined) return tooMuchOf(this.#table);
    const { name, columns } = this.#table;
    const row = columns.flatMap((column, index) => {
      const value = NAMES_OF_ROWS.has(column.name) ? page.read(index) : undefined;
      return value === undefined ? [] : [`${column.name} = '${String(value)}'`];
    });
    return new ValueTooLarge(`column ${columns[column]?.name} of ${name} in the row with ${row.join(" and ")}`, valueBytes);
  }

  #isNeeded(page: RowPage): boolean {
    for (const { index, filter } of this.#filters) if (!matches(page.read(index), filter)) return false;
    if (this.#top === undefined) return true;
    const key = page.read(this.#top.index);
    return key === undefined || this.#top.rows.offer(Number(key)); // The engine orders NULLs.
  }
}

/** Columns whose values identify a row of the tables with large values. */
const NAMES_OF_ROWS: ReadonlySet<string> = new Set(["id", "index", "scope", "service_name", "service_key", "key"]);

function matches(value: SqlValue, filter: ColumnFilter): boolean {
  if (typeof value === "string") return passes(filter, value);
  return value !== undefined && passes(filter, String(value));
}
