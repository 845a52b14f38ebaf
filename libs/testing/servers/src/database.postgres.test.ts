import { afterEach, expect, test } from "@jest/globals";
import { Client } from "pg";
import { startDatabase } from "./database.js";
import { startPostgres } from "./postgres.js";

const before = process.env["SHARED_POSTGRES_URL"];
afterEach(() => {
  if (before === undefined) delete process.env["SHARED_POSTGRES_URL"];
  else process.env["SHARED_POSTGRES_URL"] = before;
});

/** Rows of a statement, on a connection of its own. */
async function rows(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

test("two suites with a shared server have a database each, which goes with the suite although a session is open", async () => {
  await using server = await startPostgres();
  process.env["SHARED_POSTGRES_URL"] = server.url;
  const first = await startDatabase();
  const session = new Client({ connectionString: first.url });
  session.on("error", () => {}); // The server ends the session together with its database.
  {
    await using second = await startDatabase();
    await rows(first.url, "CREATE TABLE mine (id int)");
    expect(await rows(second.url, "SELECT to_regclass('mine') AS found")).toEqual([{ found: null }]);
    await session.connect();
    await first[Symbol.asyncDispose]();
    await expect(rows(first.url, "SELECT 1")).rejects.toThrow(/does not exist/);
    expect(await rows(second.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  }
  expect(await rows(server.url, "SELECT count(*)::int AS n FROM pg_database WHERE datname LIKE 'suite_%'")).toEqual([{ n: 0 }]);
});

test("without a shared server a suite gets a server of its own", async () => {
  delete process.env["SHARED_POSTGRES_URL"];
  await using database = await startDatabase();
  expect(await rows(database.url, "SELECT current_database() AS name")).toEqual([{ name: "postgres" }]);
});
