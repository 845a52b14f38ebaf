/** Reads and changes a database in tests without the driver under test. */
import pg from "pg";

/** A connection for as long as `work` takes. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of one text of SQL, on a connection of its own, so that settings of the session end with it. */
export function runSql<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
  return withClient(url, async (client) => (await client.query<R>(text)).rows);
}

/** Deletes everything, as in a new database. */
export async function emptyDatabase(url: string): Promise<void> {
  await runSql(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
}
