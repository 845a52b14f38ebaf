import { expect, test } from "@jest/globals";
import { boundedStatement, describingStatement, explaining, statementOf } from "./statement.js";

test.each([
  ["select 1", "select 1", "SELECT"],
  ["  select 1 ;; ", "select 1", "SELECT"],
  ["-- what\nselect 1; -- end; of it", "select 1", "SELECT"],
  ["/* a ; */ with x as (select 1) select * from x /* b */;", "with x as (select 1) select * from x", "WITH"],
  ["select '--a;', \"b;--\" from t", "select '--a;', \"b;--\" from t", "SELECT"],
  ["select 'it''s --' ;", "select 'it''s --'", "SELECT"],
  ["select 4/2-1", "select 4/2-1", "SELECT"],
  ["select 1; select 2", "select 1; select 2", "SELECT"],
  [" -- nothing", "", ""],
  ["select 'open", "select 'open", "SELECT"],
])("%j is %j", (written, text, keyword) => {
  expect(statementOf(written)).toEqual({ text, keyword });
});

test("rows are bounded where a statement has rows of its own; others stay as they are", () => {
  expect(boundedStatement(statementOf("select 1 -- x"), 11)).toBe("SELECT * FROM (\nselect 1\n) LIMIT 11");
  expect(boundedStatement(statementOf("SHOW TABLES;"), 11)).toBe("SHOW TABLES");
  expect(describingStatement(statementOf("select 1"))).toBe("DESCRIBE SELECT * FROM (\nselect 1\n)");
  expect(describingStatement(statementOf("explain select 1"))).toBeUndefined();
});

test("queries are explained, other statements are not", () => {
  expect(explaining(statementOf("select 1; -- one"), false)).toBe("EXPLAIN select 1");
  expect(explaining(statementOf("from t"), true)).toBe("EXPLAIN ANALYZE from t");
  expect(explaining(statementOf("EXPLAIN select 1"), false)).toBeUndefined();
  expect(explaining(statementOf(""), false)).toBeUndefined();
});
