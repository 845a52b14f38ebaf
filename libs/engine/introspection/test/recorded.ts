/** Tables whose rows were recorded elsewhere, so that recorded statements can run again. */
import { readFileSync } from "node:fs";
import { fromHex } from "@perdure/base";
import { columnsOf, type TableName } from "../src/schema.js";
import { type ColumnType, defineTable, type SqlTable, type SqlValue } from "../src/table.js";

/** A value as JSON has it; integers a double cannot hold are bigint. */
export type JsonValue = string | number | bigint | boolean | null | readonly JsonValue[] | JsonRow;
export interface JsonRow {
  readonly [column: string]: JsonValue;
}

export interface RecordedStatement {
  readonly group: "cli" | "user";
  readonly name: string;
  readonly sql: string;
  readonly rows: readonly JsonRow[];
  /** `name: type`, types as apache-arrow writes them. */
  readonly types: readonly string[];
}

interface Recording {
  readonly tables: Readonly<Record<TableName, readonly JsonRow[] | undefined>>;
  readonly statements: readonly RecordedStatement[];
}

/** Newer than the type declarations: the number as written in the text. */
const parseWithSource = JSON.parse as (
  text: string,
  revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** Like `JSON.parse`, but exact. */
export function parseJson(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "") ? BigInt(source ?? "") : value,
  );
}

export function readTestData(name: string): unknown {
  return parseJson(readFileSync(new URL(`../testdata/${name}`, import.meta.url), "utf8"));
}

export const recording = readTestData("recorded.json") as Recording;

/** The table with its recorded rows. */
export function recordedTable(name: TableName): SqlTable {
  const columns = columnsOf(name);
  const readers = Object.fromEntries(
    columns.map((column) => [column.name, (row: JsonRow) => cellOf(column.type, row[column.name])]),
  );
  return defineTable<JsonRow>({ name, readers, rows: () => recording.tables[name] ?? [] });
}

function cellOf(type: ColumnType, value: JsonValue | undefined): SqlValue {
  if (value === undefined || value === null) return undefined;
  switch (type) {
    case "timestamp":
      return Date.parse(value as string);
    case "duration":
      return Number(/^PT(.*)S$/.exec(value as string)?.[1] ?? 0) * 1000;
    case "bytes":
      return fromHex(value as string);
    default:
      return value as SqlValue;
  }
}
