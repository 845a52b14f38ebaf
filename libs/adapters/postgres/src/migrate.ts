/**
 * Migrates a database to the schema of this version: each step once, in order, forward only, by one process at a time. A database of a
 * newer version is refused: an older version must not write a schema that it does not support.
 */
import { type Logger, PerdureError } from "@perdure/base";
import type { Client } from "pg";
import { MIGRATION_LOCK_TIMEOUT_MS } from "./limits.js";
import { type Migration, migrations } from "./migrations/index.js";

/** Any number, the same in all versions: the holder of this advisory lock migrates. */
const LOCK = 7_237_737_883_673_349n;

/** The steps that were applied. */
export const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS perdure_migrations (
    number int PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`;

/**
 * Resolves with the number of steps that were applied. Throws META0010 when the database is newer, or older than the first step, STO0001
 * when it fails.
 */
export async function migrate(client: Client, logger: Logger, steps: readonly Migration[] = migrations): Promise<number> {
  await client.query(`SET lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}`);
  await client.query("SELECT pg_advisory_lock($1)", [LOCK]);
  try {
    await client.query(MIGRATIONS_TABLE);
    const { rows } = await client.query<{ number: number }>("SELECT number FROM perdure_migrations ORDER BY number");
    const applied = rows.at(-1)?.number;
    const first = steps[0]?.number ?? 0;
    const last = steps.at(-1)?.number ?? 0;
    if (applied !== undefined && applied > last) {
      throw new PerdureError(
        "META0010",
        `the database is at migration ${applied} and this version supports up to ${last}; run the version that migrated it, or a newer one`,
      );
    }
    if (applied !== undefined && applied < first) {
      throw new PerdureError(
        "META0010",
        `the database was left by a version before 0.1.0 at migration ${applied}, which no release continues; empty it, or use another database`,
      );
    }
    const missing = steps.filter(({ number }) => number > (applied ?? 0));
    for (const step of missing) {
      await client.query("BEGIN");
      try {
        await takeStep(client, step);
        await client.query("COMMIT");
      } catch (cause) {
        await client.query("ROLLBACK");
        throw cause;
      }
      logger.info({ number: step.number, name: step.name }, "database migrated");
    }
    return missing.length;
  } finally {
    await client.query("SELECT pg_advisory_unlock($1)", [LOCK]);
  }
}

/** Within a transaction, in the first schema of the search path. */
export async function takeStep(client: Client, { number, name, sql }: Migration): Promise<void> {
  await client.query(sql);
  await client.query("INSERT INTO perdure_migrations (number, name) VALUES ($1, $2)", [number, name]);
}
