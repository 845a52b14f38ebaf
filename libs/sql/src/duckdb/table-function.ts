/**
 * Why: the engine reads our tables through functions of ours. They are synchronous while our stores are not, so a function that
 * finds nothing gathered says which columns it wanted and fails; the statement is then run again with them at hand.
 */
import {
  BLOB,
  BOOLEAN,
  blobValue,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBIntervalValue,
  DuckDBTableFunction,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  INTERVAL,
  LIST,
  listValue,
  TIMESTAMPTZ,
  UBIGINT,
  UINTEGER,
  VARCHAR,
} from "@duckdb/node-api";
import { invariant } from "@perdure/base";
import { rowsPerTurn } from "../limits.js";
import type { GatheredTable } from "../query/gather.js";
import type { Cell, ColumnType, Table } from "../table.js";
import { CATALOG, SCHEMA } from "./setup.js";

/** The rows of the statement that runs on a connection. */
export interface StatementRows {
  gathered(table: string): GatheredTable | undefined;
  /** These columns were wanted and are not there. */
  missing(table: string, columns: readonly number[]): void;
}

/** Whose rows a connection reads; by the engine's connection id. */
export type RowsOfConnection = ReadonlyMap<number, StatementRows>;

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

interface Scan {
  readonly connection: number;
  readonly columns: readonly number[];
  nextRow: number;
}

/** Registers the table's function and a view of its name. */
export async function registerTable(connection: DuckDBConnection, table: Table, rows: RowsOfConnection): Promise<void> {
  const name = `scan_${table.name}`;
  connection.registerTableFunction(
    DuckDBTableFunction.create({
      name,
      supportsProjectionPushdown: true,
      bindFunction(info) {
        for (const column of table.columns) info.addResultColumn(column.name, TYPES[column.type]);
        info.setBindData({ connection: info.clientContext.connectionId });
      },
      initFunction(info) {
        info.setMaxThreads(1);
        const { connection } = info.bindData as { connection: number };
        const scan: Scan = { connection, columns: info.getColumnIndexes(), nextRow: 0 };
        info.setInitData(scan);
        const statement = rows.get(connection);
        if (statement !== undefined && !hasAll(statement.gathered(table.name), scan.columns))
          statement.missing(table.name, scan.columns);
      },
      mainFunction(info, output) {
        const scan = info.initData as Scan;
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

function writeRows(output: DuckDBDataChunk, table: Table, gathered: GatheredTable, scan: Scan): number {
  const count = Math.min(rowsPerTurn(scan.columns.length), gathered.rowCount - scan.nextRow);
  output.rowCount = count;
  if (count === 0) return 0;
  for (let i = 0; i < scan.columns.length; i++) {
    const column = scan.columns[i] as number;
    const values = gathered.columns.get(column);
    const type = table.columns[column]?.type;
    invariant(values !== undefined && type !== undefined, "a scan starts only when its columns are gathered");
    const vector = output.getColumnVector(i);
    for (let row = 0; row < count; row++) vector.setItem(row, toEngine(type, values[scan.nextRow + row]));
    vector.flush();
  }
  return count;
}

function toEngine(type: ColumnType, value: Cell): DuckDBValue {
  if (value === undefined) return null;
  switch (type) {
    case "text":
    case "u32":
    case "bool":
      return value as string | number | boolean;
    case "u64":
      return BigInt(value as number | bigint);
    case "bytes":
      return blobValue(value as Uint8Array);
    case "timestamp":
      return new DuckDBTimestampTZValue(BigInt(value as number) * 1000n);
    case "duration":
      return new DuckDBIntervalValue(0, 0, BigInt(value as number) * 1000n);
    case "u32List":
    case "textList":
      return listValue(value as readonly (number | string)[]);
  }
}
