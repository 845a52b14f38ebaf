/**
 * Columns that tenancy adds to its tables beside the migrations. A migration has a number, and earlier releases refuse a database with a
 * number that they do not support, so none of their processes could start again during an upgrade. These columns have no number: earlier
 * releases read and write the other columns by name or position, and rows that they write have NULL here (docs/decisions/0054).
 */
import type { Client } from "pg";

interface AddedColumn {
  readonly table: string;
  readonly column: string;
  /** Type of the column, without NOT NULL, because earlier releases do not write the column. */
  readonly type: string;
}

/** Added to, never changed: databases have them. They stand after the columns of the migrations. */
const ADDED_COLUMNS: readonly AddedColumn[] = [{ table: "perdure_tunnels", column: "ports", type: "int[]" }];

/** Run it after the migrations. Checks first whether the columns exist: an `ALTER TABLE` waits for every transaction on the table. */
export async function addColumns(client: Client): Promise<void> {
  for (const { table, column, type } of ADDED_COLUMNS) {
    const there = "SELECT FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2 AND NOT attisdropped";
    if ((await client.query(there, [table, column])).rowCount === 1) continue;
    // Another process may be faster.
    await client.query(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${column} ${type}`);
  }
}
