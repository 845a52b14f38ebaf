/** A database that an earlier version left is brought forward, and everything in it stays. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import { type EnvironmentId, newApiKeyId, parseEnvironmentId } from "@perdure/cloud";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { archiveRecord } from "@perdure/storage";
import type { QueryResultRow } from "pg";
import { openPostgresArchive } from "./archive.js";
import { openPostgresMetadataStore } from "./metadata-store.js";
import { migrate } from "./migrate.js";
import { migrations } from "./migrations/index.js";
import { openTenancyDatabase } from "./tenancy/index.js";
import { emptyDatabase, runSql, withClient } from "./testing/direct.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

const sql = <R extends QueryResultRow>(text: string): Promise<R[]> => runSql<R>(server.url, text);

/** What `pg_dump --inserts --no-owner` wrote of a database after a migration; psql's own commands are left out. */
const oldDump = (after: string): Promise<string> => readFile(new URL(`../testdata/after-${after}.sql`, import.meta.url), "utf8");

/** Tables with columns and defaults, indexes, constraints, triggers and functions. Functions may differ in white space. */
const shape = () =>
  Promise.all([
    sql(
      "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, is_identity FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    ),
    sql(
      "SELECT relname, relpersistence, reloptions FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND relkind = 'r' ORDER BY 1",
    ),
    sql("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"),
    sql(
      "SELECT conrelid::regclass::text AS of, conname, pg_get_constraintdef(c.oid) AS def FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname = 'public' ORDER BY 1, 2",
    ),
    sql("SELECT tgname, pg_get_triggerdef(oid) AS def FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"),
    sql(
      "SELECT proname, pg_get_function_arguments(p.oid) AS args, pg_get_function_result(p.oid) AS result, regexp_replace(prosrc, '\\s+', ' ', 'g') AS body FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public' ORDER BY 1",
    ),
  ]);

describe("a database as the commit before version 0.1.0 left it, in seven steps", () => {
  beforeAll(async () => {
    await emptyDatabase(server.url);
    await sql(await oldDump("0007"));
  });

  test("has what the base makes at once, in the same tables, and the same plans to choose from", async () => {
    const plans = "SELECT * FROM perdure_plans WHERE id <> 'own' ORDER BY id";
    const [old, oldPlans] = [await shape(), await sql(plans)];
    await emptyDatabase(server.url);
    expect(await withClient(server.url, (client) => migrate(client, silentLogger, migrations.slice(0, 1)))).toBe(1);
    expect(await shape()).toEqual(old);
    expect(await sql(plans)).toEqual(oldPlans);
    await emptyDatabase(server.url);
    await sql(await oldDump("0007"));
  });

  test("keeps its documents and versions, and takes what is new", async () => {
    await using store = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
    const numbers = await sql<{ number: number }>("SELECT number FROM public.perdure_migrations ORDER BY number");
    const later = migrations.map(({ number }) => number).filter((number) => number > 7);
    expect(numbers.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, ...later]);
    expect(await store.list("")).toEqual([
      {
        key: "deployments/dp_15ChR1PDwZt22Rn2lfZrRo5",
        version: 1,
        value: { uri: "http://greeter:9080/", createdAtMs: 1_763_700_000_000 },
      },
      { key: "services/Greeter", version: 2, value: { revision: 2, public: true, note: "it's ünicode ☃ \\ '" } },
    ]);
    // The counter of versions continued beyond the documents that are left: it must not fall back.
    const written = await store.write([{ kind: "put", key: "services/New", value: 1, expectedVersion: 0 }]);
    expect(written).toEqual({ kind: "written", version: 5 });
    await using other = await openPostgresMetadataStore({ url: server.url, environment: "env_2" }, silentLogger);
    expect(await other.get("services/Greeter")).toEqual({ key: "services/Greeter", version: 1, value: { revision: 7 } });
  });

  test("keeps its archive and the fencing of its writers", async () => {
    await using archive = await openPostgresArchive({ url: server.url, environment: "env_1" }, silentLogger);
    expect(await archive.find([anId(1)])).toMatchObject([{ id: anId(1) }]);
    expect(await archive.put({ partition: 0, epoch: 2 }, [])).toMatchObject({ kind: "fenced" });
    const none = anInvocation("completed", { facts: someFacts({ id: anId(2) }) });
    const record = archiveRecord({ ...none, journal: { ...none.journal, length: 0 } }, [], []);
    expect(await archive.put({ partition: 0, epoch: 3 }, [record])).toEqual({ kind: "done" });
    expect(await archive.find([anId(2)])).toMatchObject([{ id: anId(2) }]);
  });

  test("keeps users, what they belong to, their logins and keys, plans and the audit log", async () => {
    await using database = await openTenancyDatabase(server.url, silentLogger);
    const { users, accounts, environments, logins, apiKeys, audit, mails } = database.tables;
    const user = await users.ofEmail("ada@example.test");
    if (user === undefined) throw new Error("the user is gone");
    expect(user.emailVerifiedAtMs).toBeUndefined();
    const [account] = await accounts.ofUser(user.id);
    if (account === undefined) throw new Error("the account is gone");
    expect(account).toMatchObject({ name: "Acme", planId: "team", role: "owner" });
    expect(await environments.ofAccount(account.id)).toMatchObject([{ name: "dev", isThrottled: false }]);
    expect((await accounts.plans()).map(({ id, membersMax, isSelfService }) => [id, membersMax, isSelfService])).toEqual([
      ["free", 5, true],
      ["own", 5, false],
      ["team", 100, false],
    ]);
    expect(await audit.list({ accountId: account.id }, 10)).toMatchObject([{ number: 1, action: "account.create" }]);
    expect(await mails.take(10, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toEqual([]);

    expect(await logins.password(user.id)).toBe("$argon2id$…");
    const cookieHash = createHash("sha256").update("cookie").digest();
    const session = await logins.ofCookie(cookieHash, 1_763_700_000_001);
    if (session === undefined) throw new Error("the session is gone");
    expect(session).toMatchObject({ userId: user.id, kind: "browser", label: "Firefox", confirmedAtMs: undefined });
    expect(await logins.confirmed(session.id, user.id, 1_763_700_000_002)).toBe(true);

    const [old] = await apiKeys.of(parseEnvironmentId("env_201kaj2h3j4k5m6n7p8q9r0s1t2") as EnvironmentId);
    if (old === undefined) throw new Error("the key is gone");
    expect(old.ratePerSecond).toBeUndefined();
    const id = newApiKeyId(systemRandom);
    await apiKeys.insert({ ...old, id, ratePerSecond: 5 });
    expect(await apiKeys.get(id)).toMatchObject({ ratePerSecond: 5 });
  });
});

test("there is a dump of the first version, and of every later one but the present", async () => {
  const dumps = (await readdir(new URL("../testdata/", import.meta.url))).filter((name) => /^after-\d{4}\.sql$/.test(name));
  const left = migrations.slice(0, -1).map(({ number }) => number);
  const expected = [...new Set([7, ...left])].map((number) => `after-${String(number).padStart(4, "0")}.sql`);
  expect(dumps.sort()).toEqual(expected);
});

test("a database that was migrated from the first version and a fresh one have the same tables, columns and indexes", async () => {
  await emptyDatabase(server.url);
  await sql(await oldDump("0007"));
  await using migrated = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await migrated.get("services/Greeter")).toBeDefined();
  const old = await shape();
  await emptyDatabase(server.url);
  await using fresh = await openPostgresMetadataStore({ url: server.url, environment: "env_1" }, silentLogger);
  expect(await fresh.list("")).toEqual([]);
  expect(await shape()).toEqual(old);
});
