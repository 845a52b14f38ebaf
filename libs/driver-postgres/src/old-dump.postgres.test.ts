/** A database that an earlier version left is brought forward, and everything in it stays. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import { type EnvironmentId, newApiKeyId, parseEnvironmentId } from "@perdure/cloud";
import { anId, anInvocation } from "@perdure/partition/testing";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { archiveRecord } from "@perdure/store";
import type { QueryResultRow } from "pg";
import { openPostgresArchive } from "./archive.js";
import { openPostgresMetadataStore } from "./metadata-store.js";
import { migrations } from "./migrations/index.js";
import { openTenancyDatabase } from "./tenancy/index.js";
import { emptyDatabase, runSql } from "./testing/direct.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

const sql = <R extends QueryResultRow>(text: string): Promise<R[]> => runSql<R>(server.url, text);

/** What `pg_dump --inserts` wrote of a database after so many migrations; psql's own commands are left out. */
const oldDump = (after: string): Promise<string> => readFile(new URL(`../testdata/after-${after}.sql`, import.meta.url), "utf8");

test("a database as the first version left it keeps its documents and versions, and takes what is new", async () => {
  await sql(await oldDump("0001"));
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

test("a database as the second version left it keeps its documents, its archive and who may write there", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0002"));
  await using store = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  const numbers = await sql<{ number: number }>("SELECT number FROM public.perdure_migrations ORDER BY number");
  expect(numbers.map(({ number }) => number)).toEqual(migrations.map(({ number }) => number));
  expect((await store.list("")).map(({ key, version }) => [key, version])).toEqual([
    ["registry/deployment/dp_15ChR1PDwZt22Rn2lfZrRo5", 1],
    ["schedules/name/often", 2],
  ]);
  await using archive = await openPostgresArchive({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await archive.find([anId(1)])).toMatchObject([{ id: anId(1) }]);
  expect(await archive.put({ partition: 0, epoch: 2 }, [])).toMatchObject({ kind: "fenced" });
  expect(await archive.put({ partition: 0, epoch: 3 }, [])).toEqual({ kind: "done" });
});

test("a database as the third version left it keeps who belongs to what, and takes their logins", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0003"));
  await using database = await openTenancyDatabase(server.url, silentLogger);
  const { users, accounts, logins, audit } = database.tables;
  const user = await users.ofEmail("ada@example.test");
  if (user === undefined) throw new Error("the user is gone");
  const [account] = await accounts.ofUser(user.id);
  expect(account).toMatchObject({ name: "Acme", planId: "team", role: "owner" });
  if (account === undefined) throw new Error("the account is gone");
  expect(await audit.list({ accountId: account.id }, 10)).toMatchObject([{ number: 1, action: "account.create" }]);
  await logins.setPassword(user.id, "$argon2id$…", 1);
  expect(await logins.password(user.id)).toBe("$argon2id$…");
});

test("a database as the fourth version left it keeps passwords and keys, which may have a rate from now on", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0004"));
  await using database = await openTenancyDatabase(server.url, silentLogger);
  const { users, logins, apiKeys } = database.tables;
  const user = await users.ofEmail("ada@example.test");
  if (user === undefined) throw new Error("the user is gone");
  expect(await logins.password(user.id)).toBe("$argon2id$old");
  const [old] = await apiKeys.of(parseEnvironmentId("env_201k0yd4rz8yftmd4awh1bajg4v") as EnvironmentId);
  if (old === undefined) throw new Error("the key is gone");
  expect(old.ratePerSecond).toBeUndefined();
  const id = newApiKeyId(systemRandom);
  await apiKeys.insert({ ...old, id, ratePerSecond: 5 });
  expect(await apiKeys.get(id)).toMatchObject({ ratePerSecond: 5 });
});

test("a database as the fifth version left it keeps its plans, of which only the free one may be chosen, and has nothing to mail", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0005"));
  await using database = await openTenancyDatabase(server.url, silentLogger);
  const { users, accounts, environments, mails } = database.tables;
  const user = await users.ofEmail("ada@example.test");
  if (user === undefined) throw new Error("the user is gone");
  expect(user.emailVerifiedAtMs).toBeUndefined();
  expect((await accounts.plans()).map(({ id, membersMax, isSelfService }) => [id, membersMax, isSelfService])).toEqual([
    ["free", 5, true],
    ["own", 5, false],
    ["team", 100, false],
  ]);
  const [account] = await accounts.ofUser(user.id);
  if (account === undefined) throw new Error("the account is gone");
  expect(await environments.ofAccount(account.id)).toMatchObject([{ name: "dev", isThrottled: false }]);
  expect(await mails.take(10, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toEqual([]);
  await users.verified(user.id, "ADA@example.test", 7);
  await users.verified(user.id, "another@example.test", 8);
  expect((await users.get(user.id))?.emailVerifiedAtMs).toBe(7);
});

test("a database as the sixth version left it keeps its sessions, which nobody has confirmed yet", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0006"));
  await using database = await openTenancyDatabase(server.url, silentLogger);
  const { users, logins } = database.tables;
  const user = await users.ofEmail("ada@example.test");
  if (user === undefined) throw new Error("the user is gone");
  const cookieHash = createHash("sha256").update("cookie").digest();
  const session = await logins.ofCookie(cookieHash, 1_763_700_000_001);
  if (session === undefined) throw new Error("the session is gone");
  expect(session).toMatchObject({ userId: user.id, kind: "browser", label: "Firefox", confirmedAtMs: undefined });
  expect(await logins.confirmed(session.id, user.id, 1_763_700_000_002)).toBe(true);
  expect(await logins.ofCookie(cookieHash, 1_763_700_000_003)).toMatchObject({ confirmedAtMs: 1_763_700_000_002 });
});

test("there is a dump of every version but the present one", async () => {
  const dumps = (await readdir(new URL("../testdata/", import.meta.url))).filter((name) => /^after-\d{4}\.sql$/.test(name));
  expect(dumps.sort()).toEqual(migrations.slice(0, -1).map(({ number }) => `after-${String(number).padStart(4, "0")}.sql`));
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
  await emptyDatabase(server.url);
  await using fresh = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await fresh.list("")).toEqual([]);
  expect(await shape()).toEqual(migrated);
});
