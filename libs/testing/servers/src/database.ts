/**
 * A PostgreSQL server takes a second or two of processor time to initialise and start, and most suites need only an empty database. The
 * runner of the tests starts one server for all suites of a run (`shared-postgres.ts`); a suite that runs without the runner starts its
 * own.
 */
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { startPostgres } from "./postgres.js";

/** The variable in which the runner of the tests publishes the URL of its server. */
const SHARED_POSTGRES_URL = "SHARED_POSTGRES_URL";

export interface EmptyDatabase extends AsyncDisposable {
  /** `postgres://…` of an empty database; its owner may create others. */
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * An empty database for one suite, which goes when it is disposed of. For a suite that stops the server, changes its settings, or reads what
 * all its databases share (roles, sessions), `startPostgres` starts a server of its own.
 */
export async function startDatabase(): Promise<EmptyDatabase> {
  const shared = process.env[SHARED_POSTGRES_URL];
  if (shared === undefined) return startPostgres();
  const name = `suite_${randomBytes(8).toString("hex")}`;
  await execute(shared, `CREATE DATABASE ${name}`);
  return {
    url: new URL(name, shared).href,
    // Also with open sessions: a suite may leave a killed process's connections behind.
    [Symbol.asyncDispose]: () => execute(shared, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
