/** A database that an earlier version left is brought forward, and everything in it stays. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { anId, anInvocation } from "@perdure/partition/testing";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { archiveRecord } from "@perdure/store";
import pg from "pg";
import { openPostgresArchive } from "./archive.js";
import { openPostgresMetadataStore } from "./metadata-store.js";
import { migrations } from "./migrations/index.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

async function sql<R extends pg.QueryResultRow>(text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

/** What `pg_dump --inserts` wrote of a database after the first migration, with documents of two environments. */
const oldDump = (): Promise<string> => readFile(new URL("../testdata/after-0001.sql", import.meta.url), "utf8");

test("a database as the first version left it keeps its documents and versions, and takes what is new", async () => {
  await sql(await oldDump());
  const taken = "SELECT number, name FROM public.perdure_migrations ORDER BY number";
  expect(await sql(taken)).toEqual([{ number: 1, name: "documents" }]);

  await using store = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await sql(taken)).toEqual(migrations.map(({ number, name }) => ({ number, name })));
  expect(await store.list("")).toEqual([
    {
      key: "deployments/dp_15ChR1PDwZt22Rn2lfZrRo5",
      version: 1,
      value: { uri: "http://greeter:9080/", createdAtMs: 1_763_700_000_000 },
    },
    { key: "services/Greeter", version: 2, value: { revision: 2, public: true, note: "it's ünicode ☃ \\ '" } },
  ]);
  // The counter of versions went on beyond the documents that are left: it must not fall back.
  const written = await store.write([{ kind: "put", key: "services/New", value: 1, expectedVersion: 0 }]);
  expect(written).toEqual({ kind: "written", version: 5 });
  await using other = await openPostgresMetadataStore({ url: server.url, environment: "env_2" }, silentLogger);
  expect(await other.get("services/Greeter")).toEqual({ key: "services/Greeter", version: 1, value: { revision: 7 } });

  await using archive = await openPostgresArchive({ url: server.url, environment: "env_1" }, silentLogger);
  const none = anInvocation("completed");
  const record = archiveRecord({ ...none, journal: { ...none.journal, length: 0 } }, [], []);
  await archive.put({ partition: 0, epoch: 1 }, [record]);
  expect(await archive.find([anId(1)])).toMatchObject([{ id: anId(1) }]);
});

test("a fresh database and a migrated one have the same tables, columns and indexes", async () => {
  const shape = () =>
    Promise.all([
      sql(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
      ),
      sql("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"),
      sql(
        "SELECT proname, prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public' ORDER BY 1",
      ),
    ]);
  const migrated = await shape();
  await sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  await using fresh = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await fresh.list("")).toEqual([]);
  expect(await shape()).toEqual(migrated);
});
