/**
 * Moves rows of environments that earlier operators kept in the platform's tables into the schema of the environment, in the transaction
 * that creates the schema, while nothing of the environment runs. The role owns the tables only afterwards, so no code of the environment
 * runs with the platform's rights.
 */
import { PerdureError } from "@perdure/base";
import type pg from "pg";
import { MOVE_TIMEOUT_MS } from "../limits.js";
import { MIGRATIONS_TABLE, takeStep } from "../migrate.js";
import { migrations } from "../migrations/index.js";
import { quoted } from "./session.js";

/** Tables with the rows of several environments that processes of an environment write. */
const SHARED_TABLES = ["perdure_versions", "perdure_documents", "perdure_archive_leaders", "perdure_archive"];

/** The tables among these that the platform has, as quoted names. */
async function sharedTables(client: pg.Client, platform: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace " +
      "WHERE quote_ident(nspname) = $1 AND relkind = 'r' AND relname = ANY($2)",
    [platform, SHARED_TABLES],
  );
  return rows.map(({ name }) => name);
}

/** Whether the platform's tables have rows of the environment. */
export async function hasSharedRows(client: pg.Client, platform: string, environmentId: string): Promise<boolean> {
  for (const table of await sharedTables(client, platform)) {
    const sql = `SELECT FROM ${platform}.${table} WHERE environment = $1 LIMIT 1`;
    if ((await client.query(sql, [environmentId])).rowCount === 1) return true;
  }
  return false;
}

/** Within a transaction. */
export async function deleteSharedRows(client: pg.Client, platform: string, environmentId: string): Promise<void> {
  await client.query(`SET LOCAL statement_timeout = ${MOVE_TIMEOUT_MS}`);
  for (const table of await sharedTables(client, platform)) {
    const text = `DELETE FROM ${platform}.${table} WHERE environment = $1`;
    await client.query({ ...moveTimeout, text, values: [environmentId] });
  }
}

/** Timeout of one statement: an archive may have millions of rows. */
const moveTimeout = { query_timeout: MOVE_TIMEOUT_MS + 2_000 };

/** Within a transaction. Throws META0010 when the platform's tables are of a newer version than this one. */
export async function moveSharedRows(client: pg.Client, platform: string, schema: string, environmentId: string): Promise<void> {
  await client.query(`SET LOCAL statement_timeout = ${MOVE_TIMEOUT_MS}`);
  const { rows: applied } = await client.query<{ number: number }>(`SELECT number FROM ${platform}.perdure_migrations`);
  const number = Math.max(...applied.map((one) => one.number));
  if (number > (migrations.at(-1)?.number ?? 0))
    throw new PerdureError(
      "META0010",
      `the database has taken migration ${number}, which this operator does not support; update the operator`,
    );
  // The schema of the platform's present tables: the environment's own processes apply further steps.
  await client.query(`SET LOCAL search_path TO ${quoted(schema)}`);
  await client.query(MIGRATIONS_TABLE);
  for (const step of migrations.filter((one) => one.number <= number)) await takeStep(client, step);
  for (const table of await sharedTables(client, platform)) {
    const columns = await columnsOf(client, `${platform}.${table}`);
    const text =
      `WITH moved AS (DELETE FROM ${platform}.${table} WHERE environment = $1 RETURNING ${columns}) ` +
      `INSERT INTO ${quoted(schema)}.${table} (${columns}) SELECT ${columns} FROM moved`;
    await client.query({ ...moveTimeout, text, values: [environmentId] });
  }
}

async function columnsOf(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute " +
      "WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
    [table],
  );
  return rows[0]?.columns ?? "";
}
