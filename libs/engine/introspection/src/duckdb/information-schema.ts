/**
 * The views behind `information_schema`, where users and tools list the tables. DuckDB's own `information_schema` shows scan functions,
 * other catalogs and its own names of types; these views show the relations of this server as the reference does (introspection-sql.md
 * §1).
 */
import type { ColumnType, SqlTable } from "../table.js";
import { CATALOG, SCHEMA } from "./setup.js";

/** The schema of the views; `query/rewrite.ts` replaces `information_schema` by it. */
export const DESCRIBED_SCHEMA = "described";
export const DESCRIBED_VIEWS = ["columns", "tables", "views", "schemata"] as const;

const ARROW_NAMES: Readonly<Record<ColumnType, string>> = {
  text: "LargeUtf8",
  u32: "UInt32",
  u64: "UInt64",
  bool: "Boolean",
  bytes: "LargeBinary",
  timestamp: 'Timestamp(ms, "+00:00")',
  duration: "Duration(ms)",
  u32List: "List(UInt32)",
  textList: "List(LargeUtf8)",
};
/** The one relation that is built from others, and its one column that is never NULL. */
const VIEW = "sys_invocation";
const NEVER_NULL = "status";

export function informationSchema(tables: readonly SqlTable[]): readonly string[] {
  const tableRows = tables.map(({ name }) => row(CATALOG, SCHEMA, name, name === VIEW ? "VIEW" : "BASE TABLE"));
  const viewRows = DESCRIBED_VIEWS.map((name) => row(CATALOG, "information_schema", name, "VIEW"));
  const columnRows = tables.flatMap(({ name, columns }) =>
    columns.map((column, position) => {
      const isNullable = name !== VIEW || column.name !== NEVER_NULL;
      return `(${text(CATALOG)}, ${text(SCHEMA)}, ${text(name)}, ${text(column.name)}, CAST(${position} AS UBIGINT), CAST(NULL AS VARCHAR),
        '${isNullable ? "YES" : "NO"}', ${text(ARROW_NAMES[column.type])})`;
    }),
  );
  return [
    `CREATE SCHEMA ${CATALOG}.${DESCRIBED_SCHEMA}`,
    view("tables", "table_catalog, table_schema, table_name, table_type", [...tableRows, ...viewRows]),
    view(
      "columns",
      "table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type",
      columnRows,
    ),
    view("views", "table_catalog, table_schema, table_name", [
      row(CATALOG, SCHEMA, VIEW),
      ...DESCRIBED_VIEWS.map((name) => row(CATALOG, "information_schema", name)),
    ]),
    view("schemata", "catalog_name, schema_name", [row(CATALOG, SCHEMA), row(CATALOG, "information_schema")]),
  ];
}

/** A table, though users see a view: the engine would parse and plan hundreds of constants for each statement. */
function view(name: string, columns: string, rows: readonly string[]): string {
  return `CREATE TABLE ${CATALOG}.${DESCRIBED_SCHEMA}.${name} AS SELECT * FROM (VALUES ${rows.join(", ")}) t(${columns})`;
}

function row(...values: readonly string[]): string {
  return `(${values.map(text).join(", ")})`;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
