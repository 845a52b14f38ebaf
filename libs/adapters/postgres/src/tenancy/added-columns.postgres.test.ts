/** Columns beside the migrations: an earlier release continues with a database that has them, and starts on it. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import type { QueryResultRow } from "pg";
import { migrate } from "../migrate.js";
import { migrations } from "../migrations/index.js";
import { emptyDatabase, runSql, withClient } from "../testing/direct.js";
import { migrateTenancyDatabase, openTenancyDatabase } from "./database.js";

const ENVIRONMENT = "env_1" as EnvironmentId;
const ONE = { environmentId: ENVIRONMENT, name: "t", id: "1", clientVersion: undefined, workerId: undefined };
const TUNNEL = { ...ONE, connectedAtMs: 5, inFlight: 2, ports: [9080] };

const COLUMNS_OF_TENANCY = `SELECT attrelid::regclass || '.' || attname AS name, attnotnull AS "isRequired" FROM pg_attribute
  WHERE attrelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'perdure_%' AND relkind = 'r') AND attnum > 0 AND NOT attisdropped`;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

const sql = <R extends QueryResultRow>(text: string): Promise<R[]> => runSql<R>(server.url, text);
const numbers = async () => (await sql<{ number: number }>("SELECT number FROM perdure_migrations")).map(({ number }) => number);

async function columnsOf(table: string): Promise<readonly string[]> {
  const rows = await sql<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  return rows.map(({ name }) => name);
}

beforeEach(async () => {
  await emptyDatabase(server.url);
  await sql(await readFile(new URL("../../testdata/after-0007.sql", import.meta.url), "utf8"));
});

test("tenancy adds them to a database that an earlier release left, last and without a number, whichever process comes first", async () => {
  const before = [await numbers(), await columnsOf("perdure_tunnels")] as const;
  expect(before[1]).not.toContain("ports");
  await Promise.all([1, 2, 3].map(() => migrateTenancyDatabase(server.url, silentLogger)));
  expect(await columnsOf("perdure_tunnels")).toEqual([...before[1], "ports"]);
  expect(await numbers()).toEqual(before[0]);
});

test("all of them may be missing from what an earlier release writes, which then starts and writes as before", async () => {
  await using database = await openTenancyDatabase(server.url, silentLogger);
  await database.change((tables) => tables.tunnels.replace({ relay: "r1", atMs: 0, connections: [TUNNEL] }, 10));
  // The check of the first release: no number is higher than its own last one.
  expect(await withClient(server.url, (client) => migrate(client, silentLogger, migrations.slice(0, 1)))).toBe(0);
  // Its statement, by position.
  await sql("INSERT INTO perdure_tunnels SELECT 'r2', '1', 'env_1', 't', NULL, NULL, 5::bigint, 2::int, 10::bigint");
  expect(await database.tables.tunnels.of(ENVIRONMENT, 0)).toMatchObject([
    { relay: "r1", ports: [9080] },
    { relay: "r2", ports: undefined },
  ]);
});

test("none of them is NOT NULL", async () => {
  await withClient(server.url, (client) => migrate(client, silentLogger, migrations));
  const columns = () => sql<{ name: string; isRequired: boolean }>(COLUMNS_OF_TENANCY);
  const before = new Set((await columns()).map(({ name }) => name));
  await migrateTenancyDatabase(server.url, silentLogger);
  const added = (await columns()).filter(({ name }) => !before.has(name));
  expect(added).toContainEqual({ name: "perdure_tunnels.ports", isRequired: false });
  expect(added.filter(({ isRequired }) => isRequired)).toEqual([]);
});
