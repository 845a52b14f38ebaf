import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Secret, silentLogger } from "@perdure/base";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { openPostgresArchive } from "../archive.js";
import { migrateDatabase, openPostgresMetadataStore } from "../metadata-store.js";
import { runSql, withClient } from "../testing/direct.js";
import { environmentRole, environmentUrl, isEnvironmentUrl } from "./names.js";
import { prepareEnvironmentDatabase } from "./prepare.js";
import { removeEnvironmentDatabase } from "./remove.js";
import { scramVerifier } from "./scram.js";

const SIGNAL = new AbortController().signal;
const [A, B] = ["env_aaaaaaaaaa", "env_bbbbbbbbbb"] as const;
const [ROLE_A, ROLE_B] = [environmentRole(A), environmentRole(B)];
const PASSWORD = new Secret("a-b_c~!d");
const OTHER_PASSWORD = new Secret("another one");

let server: PostgresServer;
/** Its owner is not a superuser: it may create roles, and owns the database. */
let platformUrl: Secret;

beforeAll(async () => {
  server = await startPostgres();
  // Roles other than the superuser must have a password.
  const rules = "host all perdure 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
  await writeFile(join(server.directory, "pg_hba.conf"), rules);
  await runSql(server.url, "SELECT pg_reload_conf()");
  const verifier = scramVerifier(PASSWORD);
  await runSql(
    server.url,
    `CREATE ROLE platform LOGIN CREATEROLE PASSWORD '${verifier}'; CREATE ROLE reader LOGIN PASSWORD '${verifier}'`,
  );
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

let databases = 0;
/** A database of the platform, with tables and what belongs to no environment, as an earlier version left it. */
beforeEach(async () => {
  for (const { rolname } of await environmentRoles()) {
    // Their schemas went with the database of the test before.
    await runSql(server.url, `DROP DATABASE IF EXISTS platform_${databases} WITH (FORCE)`);
    await runSql(server.url, `DROP ROLE ${rolname}`);
  }
  await runSql(server.url, `DROP DATABASE IF EXISTS platform_${databases} WITH (FORCE)`);
  await runSql(server.url, `CREATE DATABASE platform_${++databases} OWNER platform`);
  platformUrl = urlOf("platform");
  await migrateDatabase(platformUrl.reveal(), silentLogger);
});

const environmentRoles = () =>
  runSql<{ rolname: string }>(server.url, "SELECT rolname FROM pg_roles WHERE rolname LIKE 'perdure\\_env%' ORDER BY 1");

function urlOf(user: string, password = PASSWORD): Secret {
  const url = new URL(`platform_${databases}`, server.url);
  url.username = user;
  url.password = encodeURIComponent(password.reveal());
  return new Secret(url.href);
}

const asPlatform = (sql: string) => runSql(platformUrl.reveal(), sql);
const as = (id: string, sql: string) => runSql(environmentUrl(platformUrl, id, PASSWORD).reveal(), sql);
const prepare = (environmentId: string, changes: { password?: Secret; isRunning?: boolean; platformUrl?: Secret } = {}) =>
  prepareEnvironmentDatabase({ platformUrl, environmentId, password: PASSWORD, isRunning: false, ...changes }, SIGNAL);
const openStore = (url: Secret, environment: string) =>
  openPostgresMetadataStore({ url: url.reveal(), environment }, silentLogger);
const put = (key: string, value: number) => [{ kind: "put", key, value, expectedVersion: undefined }] as const;

async function leaveSharedRows(environment: string, value: number): Promise<void> {
  await using store = await openStore(platformUrl, environment);
  await store.write(put("deployments/dp_1", value));
}

test("T19: each role writes its own schema, and is refused on that of the other and on every table of the platform", async () => {
  await asPlatform("INSERT INTO perdure_versions VALUES ('env_cccccccccc', 5)");
  for (const id of [A, B]) expect(await prepare(id)).toBe("prepared");
  for (const id of [A, B]) {
    await using store = await openStore(environmentUrl(platformUrl, id, PASSWORD), id);
    await store.write(put("a", 1));
    expect(await store.get("a")).toMatchObject({ value: 1 });
  }
  expect(await asPlatform("SELECT environment FROM perdure_versions")).toEqual([{ environment: "env_cccccccccc" }]);

  const tables = (await asPlatform("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")) as { name: string }[];
  expect(tables.length).toBeGreaterThan(20);
  await withClient(environmentUrl(platformUrl, A, PASSWORD).reveal(), async (client) => {
    for (const schema of ["public", ROLE_B])
      for (const { name } of tables)
        for (const sql of [`SELECT FROM ${schema}.${name}`, `DELETE FROM ${schema}.${name}`, `DROP TABLE ${schema}.${name}`])
          await expect(client.query(sql)).rejects.toThrow(/permission denied for schema/);
  });
  for (const sql of [
    "SELECT public.perdure_write('env_cccccccccc', '{}', '{}', '{}')",
    "CREATE TABLE public.mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE ROLE mine",
    "CREATE TEMPORARY TABLE mine (id int)",
    "SET ROLE platform",
    `SET ROLE ${ROLE_B}`,
    `GRANT ${ROLE_B} TO ${ROLE_A}`,
    `ALTER ROLE ${ROLE_B} PASSWORD 'x'`,
    `ALTER SCHEMA ${ROLE_B} RENAME TO mine`,
  ])
    await expect(as(A, sql)).rejects.toThrow(/permission denied|must be (owner|member|superuser)|must have/);
  expect(await as(A, "SELECT current_schemas(false)::text AS s")).toEqual([{ s: `{${ROLE_A}}` }]);
});

test("a table that PUBLIC may read stops a new environment, and is named in the error", async () => {
  await asPlatform("CREATE SCHEMA reports; GRANT USAGE ON SCHEMA reports TO PUBLIC");
  await asPlatform(
    "CREATE VIEW reports.perdure_names AS SELECT * FROM public.perdure_documents; GRANT SELECT ON reports.perdure_names TO PUBLIC",
  );
  await expect(prepare(A)).rejects.toMatchObject({ code: "OPS0007", detail: expect.stringMatching(/reports\.perdure_names/) });
  await asPlatform("REVOKE USAGE ON SCHEMA reports FROM PUBLIC");
  expect(await prepare(A)).toBe("prepared");
});

test("what an environment grants to PUBLIC on its schema stops no other", async () => {
  await prepare(A);
  await as(
    A,
    `CREATE TABLE perdure_mine (id int); GRANT USAGE ON SCHEMA ${ROLE_A} TO PUBLIC; GRANT SELECT ON perdure_mine TO PUBLIC`,
  );
  expect(await prepare(B)).toBe("prepared");
});

test("roles that existed before keep the rights of PUBLIC", async () => {
  await asPlatform("GRANT SELECT ON perdure_versions TO reader");
  await prepare(A);
  await prepare(B);
  expect(await runSql(urlOf("reader").reveal(), "SELECT count(*)::int AS n FROM perdure_versions")).toEqual([{ n: 0 }]);
});

test("only the password of the Secret opens; another one that is set later replaces it, and data stay", async () => {
  await prepare(A);
  await as(A, "CREATE TABLE kept (id int)");
  expect(await prepare(A, { password: OTHER_PASSWORD, isRunning: true })).toBe("prepared");
  await expect(as(A, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  expect(await runSql(environmentUrl(platformUrl, A, OTHER_PASSWORD).reveal(), "SELECT FROM kept")).toEqual([]);
});

test("rows of an environment of an earlier operator move with it, and those of others stay", async () => {
  await leaveSharedRows(A, 1);
  await leaveSharedRows(B, 2);
  await asPlatform(`SELECT perdure_archive_lead('${A}', 3, 7)`);
  await asPlatform(
    `SELECT perdure_archive_put('${A}', 3, 7, '{\\\\x01}', '{Greeter}', '{f}', '{1}', '{2}', '{3}', '{t}', '{\\\\x02}', '{\\\\x03}', '{\\\\x04}')`,
  );
  expect(await prepare(A, { isRunning: true })).toBe("inUse");
  expect(await environmentRoles()).toEqual([]);

  expect(await prepare(A)).toBe("prepared");
  await using store = await openStore(environmentUrl(platformUrl, A, PASSWORD), A);
  expect(await store.get("deployments/dp_1")).toMatchObject({ value: 1, version: 1 });
  expect(await store.write(put("deployments/dp_2", 3))).toEqual({ kind: "written", version: 2 });
  expect(await as(A, "SELECT service, row, events FROM perdure_archive")).toEqual([
    { service: "Greeter", row: Buffer.from([2]), events: Buffer.from([4]) },
  ]);
  expect(await as(A, `SELECT perdure_archive_lead('${A}', 3, 6) AS epoch`)).toEqual([{ epoch: "7" }]);
  const left = "SELECT environment FROM perdure_documents UNION ALL SELECT environment FROM perdure_archive";
  expect(await asPlatform(left)).toEqual([{ environment: B }]);
  await using archive = await openPostgresArchive(
    { url: environmentUrl(platformUrl, A, PASSWORD).reveal(), environment: A },
    silentLogger,
  );
  expect(archive).toBeDefined();
});

test("cut off between its transactions it continues where it was, and a move that fails changes nothing", async () => {
  await leaveSharedRows(A, 1);
  // The second transaction fails at its end: rows cannot be deleted.
  await asPlatform(
    "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'cut off'; END$$; " +
      "CREATE TRIGGER stop BEFORE DELETE ON perdure_versions FOR EACH ROW EXECUTE FUNCTION stop()",
  );
  await expect(prepare(A)).rejects.toMatchObject({ code: "STO0001", detail: expect.stringMatching(/cut off/) });
  expect(await environmentRoles()).toEqual([{ rolname: ROLE_A }]);
  expect(await asPlatform(`SELECT FROM pg_namespace WHERE nspname = '${ROLE_A}'`)).toEqual([]);
  expect(await asPlatform("SELECT environment FROM perdure_documents")).toEqual([{ environment: A }]);
  await expect(as(A, "SELECT FROM perdure_documents")).rejects.toThrow(/does not exist/);

  await asPlatform("DROP TRIGGER stop ON perdure_versions");
  expect(await prepare(A)).toBe("prepared");
  expect(await as(A, "SELECT environment FROM perdure_documents")).toEqual([{ environment: A }]);
  expect(await prepare(A, { isRunning: true })).toBe("prepared");
});

test("a role or schema of that name that belongs to another owner is left alone", async () => {
  await runSql(server.url, `CREATE ROLE ${ROLE_A} LOGIN`);
  await expect(prepare(A)).rejects.toMatchObject({ code: "OPS0007", detail: expect.stringMatching(/comment/) });
  await removeEnvironmentDatabase({ platformUrl, environmentId: A }, SIGNAL);
  expect(await environmentRoles()).toEqual([{ rolname: ROLE_A }]);

  await runSql(urlOf("perdure").reveal(), `CREATE SCHEMA ${ROLE_B}`);
  await expect(prepare(B)).rejects.toMatchObject({ code: "OPS0007", detail: expect.stringMatching(/belongs to role perdure/) });
});

test("a schema that was restored without its role is handed over to a new one", async () => {
  await prepare(A);
  {
    await using store = await openStore(environmentUrl(platformUrl, A, PASSWORD), A);
    await store.write(put("a", 1));
  }
  await asPlatform(`REASSIGN OWNED BY ${ROLE_A} TO platform; DROP OWNED BY ${ROLE_A}; DROP ROLE ${ROLE_A}`);
  expect(await prepare(A, { isRunning: true })).toBe("prepared");
  await using store = await openStore(environmentUrl(platformUrl, A, PASSWORD), A);
  expect(await store.write(put("a", 2))).toEqual({ kind: "written", version: 2 });
  await as(A, "ALTER TABLE perdure_documents ADD COLUMN later int");
});

test.each([
  ["GRANT pg_read_all_data TO", "REVOKE pg_read_all_data FROM", /member of another role/],
  ["GRANT CREATE ON SCHEMA public TO", "REVOKE CREATE ON SCHEMA public FROM", /create objects in schema public/],
])("a role that was granted more is refused: %s", async (grant, revoke, message) => {
  await prepare(A);
  const { href } = new URL(new URL(platformUrl.reveal()).pathname, server.url);
  await runSql(href, `${grant} ${ROLE_A}`);
  await expect(prepare(A)).rejects.toMatchObject({ code: "OPS0007", detail: expect.stringMatching(message) });
  await runSql(href, `${revoke} ${ROLE_A}`);
  expect(await prepare(A)).toBe("prepared");
});

test("deletion ends sessions and leaves neither role, schema nor rows; nor does a second one fail, or touch others", async () => {
  await leaveSharedRows("env_cccccccccc", 1);
  await prepare(A);
  await prepare(B);
  await using store = await openStore(environmentUrl(platformUrl, A, PASSWORD), A);
  await store.write(put("a", 1));
  for (const environmentId of [A, A, "env_cccccccccc"]) await removeEnvironmentDatabase({ platformUrl, environmentId }, SIGNAL);
  await expect(store.get("a")).rejects.toMatchObject({ code: "STO0001" });
  expect(await environmentRoles()).toEqual([{ rolname: ROLE_B }]);
  expect(await asPlatform("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'perdure%'")).toEqual([{ nspname: ROLE_B }]);
  expect(await asPlatform("SELECT FROM perdure_documents")).toEqual([]);
  expect(await prepare(A)).toBe("prepared");
});

test("without the right to create roles it fails with that reason; without a database with that", async () => {
  await expect(prepare(A, { platformUrl: urlOf("reader") })).rejects.toMatchObject({ code: "OPS0007" });
  await expect(prepare(A, { platformUrl: new Secret("http://x") })).rejects.toMatchObject({ code: "OPS0007" });
  await expect(prepare(A, { platformUrl: new Secret("postgres://a@127.0.0.1:1/a") })).rejects.toMatchObject({ code: "STO0001" });
  await expect(prepare("env_x'; DROP")).rejects.toMatchObject({ code: "OPS0007" });
  const gone = prepareEnvironmentDatabase(
    { platformUrl, environmentId: A, password: PASSWORD, isRunning: false },
    AbortSignal.abort(new Error("stopped")),
  );
  await expect(gone).rejects.toThrow("stopped");
});

test("a server that accepts the connection and sends nothing is given up", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await expect(prepare(A, { platformUrl: new Secret(`postgres://a@127.0.0.1:${port}/a`) })).rejects.toMatchObject({
    code: "STO0001",
  });
  silent.close();
});

test("a pass that is broken off while it waits for another operator ends at once, and changes nothing", async () => {
  const abort = new AbortController();
  await withClient(server.url, async (client) => {
    // The holder of this lock changes roles; the other waits for it.
    const { href } = new URL(new URL(platformUrl.reveal()).pathname, server.url);
    await withClient(href, async (holder) => {
      await holder.query("BEGIN");
      await holder.query("SELECT pg_advisory_xact_lock(hashtextextended('perdure environment roles', 0))");
      const options = { platformUrl, environmentId: A, password: PASSWORD, isRunning: false };
      const preparing = prepareEnvironmentDatabase(options, abort.signal);
      const waiting =
        "SELECT FROM pg_stat_activity WHERE application_name = 'perdure-environment-roles' AND wait_event = 'advisory'";
      while ((await client.query(waiting)).rowCount === 0);
      abort.abort(new Error("the operator leads no more"));
      await expect(preparing).rejects.toThrow("leads no more");
      await holder.query("ROLLBACK");
    });
  });
  expect(await environmentRoles()).toEqual([]);
  expect(await prepare(A)).toBe("prepared");
});

test("the URL keeps where the database is and how it is reached, and nothing of the platform's role", () => {
  const given = new Secret(
    "postgres://platform:secret@db.example.org:6432/perdure?sslmode=verify-full&user=platform&options=-c%20x",
  );
  const url = environmentUrl(given, A, new Secret("p/w"));
  expect(url.reveal()).toBe(`postgres://${ROLE_A}:p%2Fw@db.example.org:6432/perdure?sslmode=verify-full`);
  expect([isEnvironmentUrl(url, A), isEnvironmentUrl(url, B), isEnvironmentUrl(given, A)]).toEqual([true, false, false]);
});
