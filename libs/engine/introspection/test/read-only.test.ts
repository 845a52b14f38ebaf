/** Statements only read: every other capability of DuckDB must be closed. */
import { existsSync } from "node:fs";
import { afterAll, describe, expect, test } from "@jest/globals";
import { TABLE_NAMES } from "../src/schema.js";
import { anEngine, arrowOf, NO_SOURCE, refusalOf, rowsOf } from "./querying.js";
import { readTestData, recordedTable } from "./recorded.js";

const engine = anEngine(NO_SOURCE, { gatheredBytesMax: 1_000_000 }, TABLE_NAMES.map(recordedTable));
afterAll(async () => engine[Symbol.asyncDispose]());

describe("refused as the caller's mistake", () => {
  test.each([
    "copy (select 1) to 'out.csv'",
    "copy sys_service to 'out.csv'",
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from read_json('/etc/passwd')",
    "select * from parquet_scan('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from glob('/etc/*')",
    "select * from sniff_csv('/etc/passwd')",
    "attach 'file.db'",
    "attach ':memory:' as other",
    "install httpfs",
    "load httpfs",
    "pragma database_list",
    "call duckdb_tables()",
    "set memory_limit = '10GB'",
    "set variable x = 1",
    "reset memory_limit",
    "use memory",
    "export database 'dir'",
    "import database 'dir'",
    "create table t (a int)",
    "create macro f() as 1",
    "create temp table t as select 1",
    "create view v as select 1",
    "drop view sys_service",
    "insert into state values (1)",
    "update state set key = 'x'",
    "delete from sys_invocation",
    "truncate state",
    "alter view sys_service rename to x",
    "begin transaction",
    "prepare p as select 1",
    "execute p",
    "vacuum",
    "checkpoint",
    "explain analyze create table t (a int)",
    "explain copy (select 1) to 'out.csv'",
    "explain analyze insert into state values (1)",
    "with x as (select 1) insert into state select * from x",
    "explain with x as (select 1) delete from state",
    "from read_text('/etc/passwd')",
    "(select * from read_text('/etc/passwd'))",
    "select * from query('copy (select 1) to ''out.csv''')",
    "select 1; select 2",
    "select 1;; drop view state",
    "select 1 /* ; */ ; drop view state",
    "select $1",
    "select ?",
    "",
    "   ",
    ";",
    "-- nothing",
    "selec 1",
    "select 'abc",
    "select nope from sys_service",
    "select nope(1)",
    "select cast('x' as int)",
    "select id, count(*) from sys_invocation",
    "select * from sys_idempotency",
    "select * from nodes",
    "select * from duckdb_settings()",
    "select * from duckdb_settings",
    "select * from duckdb_secrets()",
    "select * from pg_catalog.pg_settings",
    "select * from system.main.duckdb_databases",
    "select * from main.duckdb_columns",
    "select * from memory.main.duckdb_tables",
    "select * from pragma_user_agent()",
    "select * from pragma_database_list",
    "select * from sqlite_master",
    "select * from which_secret('a', 'b')",
    "select * from query_table('duckdb_settings')",
    "select * from json_execute_serialized_sql('{}')",
    "select current_setting('memory_limit')",
    "select CURRENT_SETTING('memory_limit')",
    "select \"current_setting\"('memory_limit')",
    "select main.current_setting('memory_limit')",
    "select system.main.current_setting('memory_limit')",
    "select 'memory_limit'.current_setting()",
    "select getvariable('x')",
    "select getenv('HOME')",
    "select levenshtein('a', 'b')",
    "select damerau_levenshtein('a', 'b')",
    "select 'a'.jaro_similarity('b')",
    "select repeat('a', 3)",
    "select main.Lpad('a', 3, 'b')",
    "select list_transform([1], x -> printf('%d', x))",
    "select * from state order by hamming(key, key)",
    "select sum(a) filter (where current_setting('memory_limit') = 'x') from range(3) t(a)",
    "select 1 where exists (select current_setting('memory_limit'))",
    "with a as (select * from duckdb_settings()) select * from a",
    "with duckdb_x as (select 1) select * from duckdb_settings",
    "explain select current_setting('memory_limit')",
    "explain analyze select * from duckdb_settings()",
    "describe select current_setting('memory_limit')",
    "describe select * from read_csv('/etc/passwd')",
    "describe select 1; drop view state",
    "show databases",
    "show all tables",
    "show memory_limit",
    "select * from (show databases)",
    "select * from (describe state)",
    "select * from (summarize state)",
    "summarize state",
    "select repeat('x', 1000000000)",
    "select range(1000000000)",
    "select lpad('x', 1000000000)",
    "select sleep_ms(100000)",
    "select * from read_csv_auto('http://localhost/')",
    "select * from 'http://localhost/x.parquet'",
    "select * from 's3://bucket/x.csv'",
    "select * from glob('**')",
    "select/**/* from/*x*/read_text/**/('/etc/passwd')",
    "select * from \"read_text\"('/etc/passwd')",
    "select 1 -- \n; drop view state",
    "select '; drop view state' ; drop view state",
    "select $$ ; $$ ; drop view state",
    "select e'\\'' ; drop view state --'",
    "select 1 /* /* */ ; */ ; drop view state",
    "/* select 1 */ drop view state",
    "create or replace view state as select 1",
    "set global enable_external_access = true",
    "set session memory_limit = '1GB'",
    "pragma enable_profiling",
    "detach restate",
    "comment on view state is 'x'",
    "prepare p as copy (select 1) to 'out.csv'",
    "deallocate p",
    "merge into state using state on true when matched then delete",
  ])("%s", async (sql) => {
    const { reason, message } = await refusalOf(engine, sql);
    expect({ sql, reason }).toEqual({ sql, reason: "invalid" });
    expect(message.length).toBeGreaterThan(5);
    expect(message).not.toContain("root:");
  });

  test("an unknown table is named", async () => {
    expect((await refusalOf(engine, "select * from nope")).message).toContain("nope");
  });

  test("and nothing was written or changed by any of them", async () => {
    expect(existsSync("out.csv")).toBe(false);
    expect(await rowsOf(engine, "select count(*) as n from information_schema.tables where table_catalog = 'memory'")).toEqual([
      { n: 0 },
    ]);
    expect(await rowsOf(engine, "select count(*) as n from state")).toEqual([{ n: 14 }]);
  });
});

describe("bounds", () => {
  test("a statement that reads too much is refused, one that reads little is not", async () => {
    const small = anEngine(NO_SOURCE, { gatheredBytesMax: 5_000 }, TABLE_NAMES.map(recordedTable));
    expect((await refusalOf(small, "select * from sys_invocation")).message).toMatch(/reads too much of sys_invocation/);
    expect(await rowsOf(small, "select count(*) as n from sys_service")).toEqual([{ n: 5 }]);
    await small[Symbol.asyncDispose]();
  });

  test.each<readonly [what: string, sql: string]>([
    ["brackets", `select ${"(".repeat(60_000)}1${")".repeat(60_000)}`],
    ["lists", `select ${"[".repeat(60_000)}1${"]".repeat(60_000)}`],
    ["subqueries", `select * from ${"(select * from ".repeat(12_000)}state${")".repeat(12_000)}`],
    ["EXISTS", `select ${"exists(select ".repeat(12_000)}1${")".repeat(12_000)}`],
    ["signs", `select ${"- ".repeat(60_000)}1`],
    ["sums", `select 1${"+1".repeat(60_000)}`],
    ["NOTs", `select ${"not ".repeat(50_000)}true`],
    ["casts", `select 1${"::int".repeat(40_000)}`],
    ["cases", `select ${"case when true then ".repeat(10_000)}1${" end".repeat(10_000)}`],
    ["steps into JSON", `select '{}'${"->'a'".repeat(40_000)}`],
    ["unions", `select 1${" union all select 1".repeat(12_000)}`],
    ["EXCEPTs", `select 1${" except select 1".repeat(12_000)}`],
    ["cross joins", `select 1 from state${", state".repeat(15_000)}`],
    [
      "joins",
      `select 1 from state a0${Array.from({ length: 300 }, (_, i) => ` join state a${i + 1} on a${i + 1}.key = a${i}.key`).join("")}`,
    ],
    [
      "names",
      `with ${Array.from({ length: 3000 }, (_, i) => `a${i} as (select * from ${i === 0 ? "state" : `a${i - 1}`})`).join(",")} select * from a2999`,
    ],
    ["a long text", `select '${"x".repeat(300_000)}'`],
  ])("nesting and multiplying without end is refused, and quickly: %s", async (_what, sql) => {
    expect(await refusalOf(engine, sql)).toMatchObject({ reason: "invalid" });
    expect(await rowsOf(engine, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test.each([
    "select count(*) from range(1000000000) a, range(1000000000) b",
    "select count(*) from state a, state b, state c, state d, state e, state f, state g, state h, state i, state j, state k",
    "with recursive t as (select 1 as n union all select n + 1 from t) select count(*) from t",
  ])("what would run for ever is stopped: %s", async (sql) => {
    const hasty = anEngine(NO_SOURCE, { statementTimeoutMs: 1500 }, TABLE_NAMES.map(recordedTable));
    await rowsOf(hasty, "select 1 as one").catch(() => []); // Loads the engine.
    expect((await refusalOf(hasty, sql)).message).toMatch(/took longer than 1.5 seconds|needs more memory/);
    expect(await rowsOf(hasty, "select 1 as one")).toEqual([{ one: 1 }]);
    await hasty[Symbol.asyncDispose]();
  });

  test("T19: a statement that takes too long is stopped and the next one runs", async () => {
    const hasty = anEngine(NO_SOURCE, { statementTimeoutMs: 1000, runningQueriesMax: 1 }, TABLE_NAMES.map(recordedTable));
    expect((await rowsOf(hasty, "select 1 as one").catch(() => [])).length).toBeLessThan(2); // Loads the engine.
    expect((await refusalOf(hasty, "select count(*) from range(100000000000) a")).message).toMatch(/took longer than 1 seconds/);
    expect(await rowsOf(hasty, "select 1 as one")).toEqual([{ one: 1 }]);
    await hasty[Symbol.asyncDispose]();
  });

  test("what would need more memory than allowed is refused", async () => {
    const tight = anEngine(NO_SOURCE, { engineMemoryBytesMax: 32 * 1024 * 1024 }, TABLE_NAMES.map(recordedTable));
    expect((await refusalOf(tight, "select list(a.range) from range(100000000) a")).message).toMatch(/memory/);
    expect(await rowsOf(tight, "select 1 as one")).toEqual([{ one: 1 }]);
    await tight[Symbol.asyncDispose]();
  });

  test("a caller that disconnects ends the statement", async () => {
    const caller = new AbortController();
    const answer = engine.query("select count(*) from range(100000000000) a", "json", caller.signal);
    caller.abort();
    expect(await answer).toMatchObject({ kind: "refused", reason: "unavailable" });
    expect(await rowsOf(engine, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("beyond the queue callers are refused with the advice to retry", async () => {
    const narrow = anEngine(NO_SOURCE, { runningQueriesMax: 1, waitingQueriesMax: 1 }, TABLE_NAMES.map(recordedTable));
    const caller = new AbortController();
    const request = () => narrow.query("select count(*) from range(100000000000) a", "json", caller.signal);
    const kept = [request(), request()];
    expect(await request()).toMatchObject({ kind: "refused", reason: "busy", retryAfterSeconds: 1 });
    caller.abort();
    for (const answer of await Promise.all(kept)) expect(answer).toMatchObject({ reason: "unavailable" });
    expect(await rowsOf(narrow, "select 1 as one")).toEqual([{ one: 1 }]);
    await narrow[Symbol.asyncDispose]();
  });

  test("a closed engine refuses statements", async () => {
    const closed = anEngine(NO_SOURCE, {}, []);
    await closed[Symbol.asyncDispose]();
    expect(await refusalOf(closed, "select 1")).toMatchObject({ reason: "unavailable" });
  });
});

describe("schema", () => {
  const expected = readTestData("schema.json") as Record<string, [string, string][]>;

  test.each(Object.entries(expected))("%s has the recorded columns, order and types", async (name, columns) => {
    const table = await arrowOf(engine, `select * from ${name} limit 1`);
    expect(table.schema.fields.map((field) => [field.name, String(field.type)])).toEqual(columns);
    const [listed] = await rowsOf(engine, `select count(*) as n from information_schema.columns where table_name = '${name}'`);
    expect(listed).toEqual({ n: columns.length });
  });
});

test("bytes written in hex are bytes", async () => {
  expect(await rowsOf(engine, "select x'00ff' = unhex('00FF') as same, hex(x'00ff') as text")).toEqual([
    { same: true, text: "00FF" },
  ]);
});

describe("statements that describe the schema", () => {
  test("the tables are listed under catalog and schema of the reference", async () => {
    const rows = await rowsOf(
      engine,
      "select table_name from information_schema.tables where table_catalog = 'restate' and table_schema = 'public'",
    );
    expect(rows.map((row) => row["table_name"]).sort()).toEqual([...TABLE_NAMES].sort());
    const shown = await rowsOf(engine, "show tables");
    expect(shown.filter((row) => row["table_schema"] === "public")).toHaveLength(TABLE_NAMES.length);
  });

  test("DESCRIBE, SHOW COLUMNS and EXPLAIN return rows", async () => {
    expect((await rowsOf(engine, "describe sys_service")).map((row) => row["column_name"])).toEqual([
      "name",
      "revision",
      "public",
      "ty",
      "deployment_id",
    ]);
    expect((await rowsOf(engine, "show columns from sys_service")).length).toBe(5);
    expect((await rowsOf(engine, "explain select * from sys_service")).length).toBeGreaterThan(0);
    expect((await rowsOf(engine, "EXPLAIN ANALYZE VERBOSE select * from sys_service")).length).toBeGreaterThan(0);
  });
});
