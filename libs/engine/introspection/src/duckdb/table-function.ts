/**
 * The functions through which the engine reads `sys_*` tables. The functions are synchronous while stores are not, so a function without
 * gathered rows throws with the columns it needs; the statement is then run again when these are gathered.
 */
import {
  BLOB,
  BOOLEAN,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBTableFunction,
  type DuckDBType,
  INTERVAL,
  LIST,
  listValue,
  TIMESTAMPTZ,
  UBIGINT,
  UINTEGER,
  VARCHAR,
} from "@duckdb/node-api";
import bindings from "@duckdb/node-bindings";
import { invariant, present } from "@perdure/base";
import { type AnyColumn, BigColumn, ListColumn, TextColumn } from "../column.js";
import { ROWS_PER_VECTOR_MAX, VECTOR_BYTES_MAX } from "../limits.js";
import type { GatheredTable } from "../query/gather.js";
import type { ColumnType, SqlTable } from "../table.js";
import { CATALOG, SCHEMA } from "./setup.js";
import { NUMBER_LAYOUTS, writeBigs, writeNumbers, writeTexts } from "./vectors.js";

/** The gathered rows of the statement that runs on a connection. */
export interface StatementRows {
  gathered(table: string): GatheredTable | undefined;
  /** Thrown when these columns are needed and were not gathered. */
  missing(table: string, columns: readonly number[]): void;
}

/** Gathered rows by the engine's connection id. */
type RowsOfConnection = ReadonlyMap<number, StatementRows>;

const TYPES: Readonly<Record<ColumnType, DuckDBType>> = {
  text: VARCHAR,
  u32: UINTEGER,
  u64: UBIGINT,
  bool: BOOLEAN,
  bytes: BLOB,
  timestamp: TIMESTAMPTZ,
  duration: INTERVAL,
  u32List: LIST(UINTEGER),
  textList: LIST(VARCHAR),
};

/** A table of a statement, from its bind on. */
class BoundTable {
  readonly connection: number;

  constructor(connection: number) {
    this.connection = connection;
  }
}

class Scan {
  readonly connection: number;
  readonly columns: readonly number[];
  nextRow = 0;

  constructor(connection: number, columns: readonly number[]) {
    this.connection = connection;
    this.columns = columns;
  }
}

/** Registers the table's function and a view of its name. */
export async function registerTable(connection: DuckDBConnection, table: SqlTable, rows: RowsOfConnection): Promise<void> {
  const name = `scan_${table.name}`;
  connection.registerTableFunction(
    DuckDBTableFunction.create({
      name,
      supportsProjectionPushdown: true,
      bindFunction(info) {
        for (const column of table.columns) info.addResultColumn(column.name, TYPES[column.type]);
        info.setBindData(new BoundTable(info.clientContext.connectionId));
      },
      initFunction(info) {
        info.setMaxThreads(1);
        const bound = info.bindData;
        invariant(bound instanceof BoundTable, "a table is bound before its scan starts");
        const scan = new Scan(bound.connection, info.getColumnIndexes());
        info.setInitData(scan);
        const statement = rows.get(scan.connection);
        if (statement !== undefined && !hasAll(statement.gathered(table.name), scan.columns))
          statement.missing(table.name, scan.columns);
      },
      mainFunction(info, output) {
        const scan = info.initData;
        invariant(scan instanceof Scan, "a scan is started before it is read");
        const gathered = rows.get(scan.connection)?.gathered(table.name);
        if (gathered === undefined || !hasAll(gathered, scan.columns)) info.setError("rows are not gathered yet");
        else scan.nextRow += writeRows(output, table, gathered, scan);
      },
    }),
  );
  await connection.run(`CREATE VIEW ${CATALOG}.${SCHEMA}.${table.name} AS SELECT * FROM ${name}()`);
}

function hasAll(gathered: GatheredTable | undefined, columns: readonly number[]): boolean {
  return gathered !== undefined && columns.every((column) => gathered.columns.has(column));
}

function writeRows(output: DuckDBDataChunk, table: SqlTable, gathered: GatheredTable, scan: Scan): number {
  const count = rowsThatFit(gathered, scan);
  output.rowCount = count;
  for (let i = 0; i < scan.columns.length && count > 0; i++) {
    const index = present(scan.columns[i]);
    const column = gathered.columns.get(index);
    const type = table.columns[index]?.type;
    invariant(column !== undefined && type !== undefined, "a scan starts only when its columns are gathered");
    writeColumn(output, i, type, column, scan.nextRow, count);
  }
  return count;
}

/** Rows whose texts have at most `VECTOR_BYTES_MAX` in each column, at least one row. */
function rowsThatFit({ rowCount, columns }: GatheredTable, scan: Scan): number {
  const from = scan.nextRow;
  let count = Math.min(ROWS_PER_VECTOR_MAX, rowCount - from);
  for (const index of scan.columns) {
    const column = columns.get(index);
    if (!(column instanceof TextColumn) || count <= 1) continue;
    const start = column.startOf(from);
    while (count > 1 && column.startOf(from + count) - start > VECTOR_BYTES_MAX) count >>= 1;
  }
  return count;
}

function writeColumn(
  output: DuckDBDataChunk,
  at: number,
  type: ColumnType,
  column: AnyColumn,
  from: number,
  count: number,
): void {
  if (column instanceof ListColumn) {
    const vector = output.getColumnVector(at);
    for (let row = 0; row < count; row++) {
      const list = column.values[from + row];
      vector.setItem(row, list === undefined ? null : listValue(list));
    }
    return vector.flush();
  }
  const vector = bindings.data_chunk_get_vector(output.chunk, at);
  if (column instanceof TextColumn) writeTexts(vector, column, from, count);
  else if (column instanceof BigColumn) writeBigs(vector, column, from, count);
  else {
    const layout = NUMBER_LAYOUTS.find((one) => one === type);
    invariant(layout !== undefined, "a column of numbers has a layout");
    writeNumbers(vector, layout, column, from, count);
  }
}
