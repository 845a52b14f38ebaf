import { describe, expect, test } from "@jest/globals";
import { CONDITION_CHARS_MAX, checkCondition } from "./condition.js";

describe("a condition", () => {
  test.each([
    ["target_service_name = 'A' and status = 'backing-off' and modified_at < now() - interval '1 hour'"],
    ["status IN ('running', 'ready') OR (retry_count > 3 AND NOT idempotency_key IS NULL)"],
    ["target_service_key like 'it''s; -- not a comment /*%'"],
    ["\"status\" = 'paused'"],
    ["pinned_deployment_id IS DISTINCT FROM 'dp_1'"],
    ["extract(hour from created_at) = 3 and substring(id from 1 for 5) = 'inv_1'"],
    ["id in (select id from sys_journal where entry_type = 'Command: Run' and name = 'pay')"],
    ["exists (SELECT 1 FROM sys_keyed_service_status AS s WHERE s.invocation_id = sys_invocation.id)"],
    ["last_failure[1:3] = 'abc'"],
    ["created_at::date = date '2026-11-21'"],
    ["(((retry_count = 1)))"],
    ["true"],
  ])("may be %s", (text) => {
    expect(checkCondition(text)).toEqual({ kind: "condition" });
  });
});

describe("what is more than a condition", () => {
  test.each([
    ["true) or (true", "closes a parenthesis"],
    ["true)", "closes a parenthesis"],
    ["(true", "opens a parenthesis"],
    ["true) union select id from sys_journal where (true", "'union' does not belong"],
    ["true; drop table x", "not several statements"],
    ["true -- ", "comments"],
    ["true /* ) */", "comments"],
    ["true /* never closed", "comments"],
    ["-- nothing", "empty"],
    ["", "empty"],
    [" \n\t", "empty"],
    ["status = 'open", "not closed"],
    ["status = 'it''", "not closed"],
    ['"status = 1', "not closed"],
    ["status = E'a\\' or true) --'", "plain texts"],
    ["status = $$a$$", "plain texts"],
    ["id = $1", "'$' is not allowed"],
    ["id = ?", "'?' is not allowed"],
    ["id in (select table_name from information_schema.tables)", "sys_ tables"],
    ["id in (select path from glob('/etc/*'))", "sys_ tables"],
    ["id in (select id from sys_journal, duckdb_settings())", "sys_ tables"],
    ["id in (select id from sys_journal j cross join range(1000000000))", "'join' does not belong"],
    ["id in (select id from (select id from sys_journal))", "sys_ tables"],
    ["id in (from duckdb_settings())", "'FROM' does not belong"],
    ["id in (select id from sys_journal order by 1) order by (select 1)", "sys_ tables"],
    ["exists (select distinct from duckdb_settings())", "sys_ tables"],
    ["exists (table duckdb_settings)", "'table' does not belong"],
    ["id in (values ('a'))", "'values' does not belong"],
    ["id in (with x as (select 1) select * from x)", "'with' does not belong"],
    ['id in (select 1 from "sys_journal")', "sys_ tables"],
    ["id in (select id from sys_journal.x)", "sys_ tables"],
    ["id in (select id from sys_journal('x'))", "sys_ tables"],
    ["exists (select 1)", "sys_ tables"],
    ["true select 1", "may only begin a subquery"],
    ["from sys_journal", "'FROM' does not belong"],
    ["extract(x from (select 1 from duckdb_settings()))", "sys_ tables"],
    ["status = 'a' \u2028", "comments"],
    ["ｔrue ； drop", "not allowed"],
    ["status = `a`", "not allowed"],
  ])("is refused: %s", (text, why) => {
    expect(checkCondition(text)).toEqual({ kind: "invalid", message: expect.stringContaining(why) });
  });

  test("is refused when it is too long", () => {
    expect(checkCondition(`status = '${"x".repeat(CONDITION_CHARS_MAX)}'`)).toMatchObject({ kind: "invalid" });
  });
});
