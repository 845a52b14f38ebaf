import { describe, expect, test } from "@jest/globals";
import { QUERY_CHARS_MAX } from "../limits.js";
import { checkStatement } from "./statement.js";

function textOf(sql: string): string {
  const checked = checkStatement(sql);
  return checked.kind === "statement" ? checked.text : `refused: ${checked.message}`;
}

describe("rewriting", () => {
  test.each([
    ["first_value as an aggregate", "select FIRST_VALUE(id ORDER BY a) from t", "select first(id ORDER BY a) from t"],
    ["last_value as an aggregate", "select last_value( (a) ), 1 from t", "select last( (a) ), 1 from t"],
    [
      "not as a window function",
      "select first_value(a) over (order by b) from t",
      "select first_value(a) over (order by b) from t",
    ],
    ["with a filter", "select first_value(a) filter (where b) from t", "select first(a) filter (where b) from t"],
    ["not in quotes", "select 'first_value(a)' as \"first_value(\" from t", "select 'first_value(a)' as \"first_value(\" from t"],
    ["not as a column", "select first_value from t", "select first_value from t"],
    ["bytes in hex", "select x'00fF', X'', x 'a', 'x', f.x", "select unhex('00fF'), unhex(''), x 'a', 'x', f.x"],
    ["unsigned integers", "select cast(1 as INT UNSIGNED), x::bigint unsigned", "select cast(1 as UINTEGER), x::UBIGINT"],
    [
      "the alias inside a derived table",
      "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000 ) WHERE inv.a = 'b'",
      "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000 ) inv WHERE inv.a = 'b'",
    ],
    ["not where there is one", "select 1 from (select * from t a limit 1) b", "select 1 from (select * from t a limit 1) b"],
    [
      "not where there is one with AS",
      "select 1 from (select * from t a limit 1) as b",
      "select 1 from (select * from t a limit 1) as b",
    ],
    ["a derived table at the end", "select 1 from (select * from t a limit 1)", "select 1 from (select * from t a limit 1) a"],
    [
      "SHOW COLUMNS",
      "show columns from restate.public.sys_service;",
      "SELECT table_catalog, table_schema, table_name, column_name, data_type, is_nullable FROM described.columns WHERE table_name = 'sys_service' ORDER BY ordinal_position",
    ],
    ["the information schema", "select 1 from Information_Schema.columns c", "select 1 from described.columns c"],
    ["not what is called alike", "select information_schema from t", "select information_schema from t"],
    ["the final semicolon", "select 1 ; ;", "select 1"],
    ["a final comment", "select 1 -- one", "select 1"],
    ["EXPLAIN", "explain analyze verbose select first_value(a) from t", "EXPLAIN ANALYZE select first(a) from t"],
  ])("%s", (_what, sql, expected) => {
    expect(textOf(sql)).toBe(expected);
  });
});

describe("refusing", () => {
  test("reports the kind of the statement", () => {
    expect(textOf("drop table t")).toBe("refused: only statements that read are supported, not DROP");
    expect(textOf("(((delete from t)))")).toMatch(/^refused: only statements that read/);
  });

  test("several statements, also behind quotes and comments", () => {
    expect(textOf("select ';' ; /* ; */ select 2")).toBe("refused: only a single SQL statement is supported");
    expect(textOf("select ';' /* ; */")).toBe("select ';'");
  });

  test("nothing at all", () => {
    for (const sql of ["", " \n", ";;", "/* only a comment */"]) {
      expect(textOf(sql)).toBe("refused: no SQL statements were provided in the query string");
    }
  });

  test("explaining anything but a query", () => {
    expect(textOf("explain explain select 1")).toBe("refused: EXPLAIN is supported for queries only");
    expect(textOf("explain analyze create table t (a int)")).toBe("refused: EXPLAIN is supported for queries only");
    expect(textOf("explain")).toBe("refused: EXPLAIN is supported for queries only");
  });

  test("what is too long", () => {
    expect(textOf(`select '${"x".repeat(QUERY_CHARS_MAX)}'`)).toMatch(/^refused: the statement is longer than/);
  });
});
