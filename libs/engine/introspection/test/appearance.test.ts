/** What clients of the reference see besides rows: names of columns, types of relations, errors in place of partial results. */
import { afterAll, describe, expect, test } from "@jest/globals";
import { TABLE_NAMES } from "../src/schema.js";
import { anEngine, arrowOf, NO_SOURCE, refusalOf, request, rowsOf } from "./querying.js";
import { readTestData, recordedTable } from "./recorded.js";

const engine = anEngine(NO_SOURCE, {}, TABLE_NAMES.map(recordedTable));
afterAll(async () => engine[Symbol.asyncDispose]());

async function namesOf(sql: string): Promise<readonly string[]> {
  return (await arrowOf(engine, sql)).schema.fields.map(({ name }) => name);
}

describe("a column without alias is called as the reference calls it", () => {
  test.each<readonly [items: string, names: readonly string[]]>([
    ["count(*), COUNT(1), min(Created_At)", ["count(*)", "count(Int64(1))", "min(sys_invocation.created_at)"]],
    [
      "max(id) is not null, count(distinct target)",
      ["max(sys_invocation.id) IS NOT NULL", "count(DISTINCT sys_invocation.target)"],
    ],
    [
      "first_value(id), upper(first_value(status))",
      ["first_value(sys_invocation.id)", "upper(first_value(sys_invocation.status))"],
    ],
    ["7/2, 1.5, -1, 'x', true, null", ["Int64(7) / Int64(2)", "Float64(1.5)", "Int64(-1)", 'Utf8("x")', "Boolean(true)", "NULL"]],
    ["coalesce(max(target), '-')", ['coalesce(max(sys_invocation.target),Utf8("-"))']],
    ["cast(count(*) as varchar), count(*) > 1", ["count(*)", "count(*) > Int64(1)"]],
    ['count(*) as n, max(id) as "Newest"', ["n", "Newest"]],
  ])("%s", async (items, names) => {
    expect(await namesOf(`select ${items} from sys_invocation`)).toEqual(names);
  });

  test("through aliases of tables, derived tables and both sides of a union", async () => {
    expect(await namesOf("select max(i.id), max(target) from sys_invocation i")).toEqual(["max(i.id)", "max(i.target)"]);
    expect(await namesOf("select sum(n) from (select 1 as n) t")).toEqual(["sum(t.n)"]);
    expect(await namesOf("select max(name) from sys_service union all select 'x'")).toEqual(["max(sys_service.name)"]);
    const joined = "from sys_service s join sys_deployment d on d.id = s.deployment_id";
    expect(await namesOf(`select max(s.name), count(*) ${joined}`)).toEqual(["max(s.name)", "count(*)"]);
    expect(await namesOf("select *, 1 from sys_service")).toHaveLength(6);
  });
});

describe("information_schema", () => {
  const relations = readTestData("schema.json") as Record<string, [name: string, type: string][]>;
  const ARROW_NAMES: Readonly<Record<string, string>> = {
    LargeUtf8: "LargeUtf8",
    LargeBinary: "LargeBinary",
    Uint32: "UInt32",
    Uint64: "UInt64",
    Bool: "Boolean",
    "Timestamp<MILLISECOND, +00:00>": 'Timestamp(ms, "+00:00")',
    "Duration<MILLISECOND>": "Duration(ms)",
    "List<Uint32>": "List(UInt32)",
    "List<LargeUtf8>": "List(LargeUtf8)",
  };

  test.each(Object.keys(relations))("has the columns of %s with types by their Arrow names", async (name) => {
    const rows = await rowsOf(
      engine,
      `select column_name, data_type, is_nullable, ordinal_position from restate.information_schema.columns where table_name = '${name}' order by ordinal_position`,
    );
    expect(rows).toEqual(
      relations[name]?.map(([column, type], position) => ({
        column_name: column,
        data_type: ARROW_NAMES[type],
        is_nullable: name === "sys_invocation" && column === "status" ? "NO" : "YES",
        ordinal_position: position,
      })),
    );
    expect(await rowsOf(engine, `describe ${name}`)).toEqual(rows.map(({ ordinal_position: _, ...row }) => row));
  });

  test("has relations, of which one is a view, and nothing of the engine's own", async () => {
    const rows = await rowsOf(engine, "select * from information_schema.tables where table_schema = 'public'");
    expect(rows).toHaveLength(TABLE_NAMES.length);
    expect(rows.filter((row) => row["table_type"] === "VIEW")).toEqual([
      { table_catalog: "restate", table_schema: "public", table_name: "sys_invocation", table_type: "VIEW" },
    ]);
    expect(await rowsOf(engine, "select distinct catalog_name from information_schema.schemata")).toEqual([
      { catalog_name: "restate" },
    ]);
    expect(await refusalOf(engine, "select * from information_schema.character_sets")).toMatchObject({ reason: "invalid" });
  });

  test("is the result of SHOW and DESCRIBE, also for queries", async () => {
    expect(await rowsOf(engine, "show columns from sys_service")).toContainEqual({
      table_catalog: "restate",
      table_schema: "public",
      table_name: "sys_service",
      column_name: "revision",
      data_type: "UInt64",
      is_nullable: "YES",
    });
    expect(await rowsOf(engine, "describe select created_at, services as s from sys_deployment")).toEqual([
      { column_name: "created_at", data_type: 'Timestamp(ms, "+00:00")', is_nullable: "YES" },
      { column_name: "s", data_type: "List(LargeUtf8)", is_nullable: "YES" },
    ]);
    for (const sql of ["describe nope", "show columns from nope", "describe scan_state"]) {
      expect(await refusalOf(engine, sql)).toMatchObject({ reason: "invalid", message: expect.stringContaining("not found") });
    }
    expect(await namesOf("explain select 1")).toEqual(["plan_type", "plan"]);
  });
});

test("~ matches anywhere, unlike its opposite", async () => {
  expect(await rowsOf(engine, "select 'abc' ~ 'b' as a, 'abc' !~ 'b' as b, 'abc' ~ '^b' as c, 'abc' !~ 'x' as d")).toEqual([
    { a: true, b: false, c: false, d: true },
  ]);
});

describe("the length of bytes", () => {
  test.each([
    ["length(x'6162c3a4')", 3], // Characters, as the reference counts.
    ["char_length(x'c3a4') + character_length(x'61')", 2],
    ["length(x'00ff')", 2], // No text: bytes.
    ["octet_length(x'6162c3a4')", 4],
    ["length(max(x'6162'))", 2],
    ["length('\u00e4\u00f6')", 2],
    ["octet_length('\u00e4\u00f6')", 4],
    ["length([1, 2, 3])", 3],
    ["length(array_agg(now()))", 1],
    ["coalesce(length(nullif(x'00', x'00')), -1)", -1],
  ])("%s is %d", async (text, length) => {
    expect(await rowsOf(engine, `select ${text} as n`)).toEqual([{ n: length }]);
  });

  test("of a column", async () => {
    const [row] = await rowsOf(
      engine,
      "select count(*) as n, sum(octet_length(raw)) as own, sum(raw_length) as n2 from sys_journal",
    );
    expect(row?.["n"]).toBeGreaterThan(0);
    expect(row?.["own"]).toEqual(row?.["n2"]);
  });

  test("x'00ff' are bytes, in upper and lower case", async () => {
    expect(await rowsOf(engine, "select x'00ff' as a, X'AB' as b, x'' as c, x'0' as d, x'61' = 'a' as e")).toEqual([
      { a: "00ff", b: "ab", c: "", d: "00", e: true },
    ]);
  });
});

describe("date_bin", () => {
  test.each([
    ["interval '7 days', timestamp '2026-11-21 12:00:00'", "2026-11-19T00:00:00Z"], // 1970 began on a Thursday.
    ["interval '1 hour', timestamp '2026-11-21 12:34:00', '1970-01-01T00:30:00Z'", "2026-11-21T12:30:00Z"],
    ["interval '1 day', timestamp '2026-11-21 12:00:00', to_timestamp('2020-01-01T06:00:00Z')", "2026-11-21T06:00:00Z"],
  ])("of %s is %s", async (args, bin) => {
    expect(await rowsOf(engine, `select date_bin(${args}) as bin`)).toEqual([{ bin }]);
  });
});

describe("numbers too large", () => {
  test("are refused before anything is answered, in both encodings", async () => {
    const sql = "select sum(x) as s from (values (9223372036854775807), (1)) t(x)";
    for (const format of ["json", "arrow"] as const) {
      await expect(request(engine, sql, format)).rejects.toThrow("invalid: 9223372036854775808 does not fit in 64 bits");
    }
  });

  test("without end are NULL in JSON, as the reference has them", async () => {
    expect(await rowsOf(engine, "select 1e400 as x, 'Infinity, \"NaN\"' as y")).toEqual([{ y: 'Infinity, "NaN"' }]);
  });
});
