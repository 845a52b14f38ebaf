/** People may look and nothing else: every way out that DuckDB has must be closed. */
import { existsSync } from "node:fs";
import { afterAll, describe, expect, test } from "@jest/globals";
import { TABLE_NAMES } from "../src/schema.js";
import { anEngine, arrowOf, NO_SOURCE, refusalOf, rowsOf } from "./asking.js";
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

  test("a statement that takes too long is stopped and the next one runs", async () => {
    const hasty = anEngine(NO_SOURCE, { statementTimeoutMs: 100, runningQueriesMax: 1 }, TABLE_NAMES.map(recordedTable));
    expect((await rowsOf(hasty, "select 1 as one").catch(() => [])).length).toBeLessThan(2); // Loads the engine.
    expect((await refusalOf(hasty, "select count(*) from range(100000000000) a")).message).toMatch(
      /took longer than 0.1 seconds/,
    );
    expect(await rowsOf(hasty, "select 1 as one")).toEqual([{ one: 1 }]);
    await hasty[Symbol.asyncDispose]();
  });

  test("what would need more memory than allowed is refused", async () => {
    const tight = anEngine(NO_SOURCE, { engineMemoryBytesMax: 32 * 1024 * 1024 }, TABLE_NAMES.map(recordedTable));
    expect((await refusalOf(tight, "select list(a.range) from range(100000000) a")).message).toMatch(/memory/);
    expect(await rowsOf(tight, "select 1 as one")).toEqual([{ one: 1 }]);
    await tight[Symbol.asyncDispose]();
  });

  test("a caller who hangs up ends the statement", async () => {
    const caller = new AbortController();
    const answer = engine.query("select count(*) from range(100000000000) a", "json", caller.signal);
    caller.abort();
    expect(await answer).toMatchObject({ kind: "refused", reason: "unavailable" });
    expect(await rowsOf(engine, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("beyond the waiting room callers are asked to come back", async () => {
    const narrow = anEngine(NO_SOURCE, { runningQueriesMax: 1, waitingQueriesMax: 1 }, TABLE_NAMES.map(recordedTable));
    const caller = new AbortController();
    const ask = () => narrow.query("select count(*) from range(100000000000) a", "json", caller.signal);
    const kept = [ask(), ask()];
    expect(await ask()).toMatchObject({ kind: "refused", reason: "busy", retryAfterSeconds: 1 });
    caller.abort();
    for (const answer of await Promise.all(kept)) expect(answer).toMatchObject({ reason: "unavailable" });
    expect(await rowsOf(narrow, "select 1 as one")).toEqual([{ one: 1 }]);
    await narrow[Symbol.asyncDispose]();
  });

  test("a closed engine answers that it is gone", async () => {
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

describe("what helps people look around", () => {
  test("the tables are listed under catalog and schema of the reference", async () => {
    const rows = await rowsOf(
      engine,
      "select table_name from information_schema.tables where table_catalog = 'restate' and table_schema = 'public'",
    );
    expect(rows.map((row) => row["table_name"]).sort()).toEqual([...TABLE_NAMES].sort());
    expect((await rowsOf(engine, "show tables")).length).toBe(TABLE_NAMES.length);
  });

  test("DESCRIBE, SHOW COLUMNS and EXPLAIN answer", async () => {
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
