import { expect, test } from "@jest/globals";
import { PAGE_IDS } from "./limits.js";
import { pageOf, pageStatement, totalOf } from "./statements.js";

const AFTER = { atUs: 1_795_000_000_000_123, id: "inv_1a" };

test("pages continue after a key in the order of the list, and none counts rows that it skips", () => {
  const statements = [
    pageStatement(undefined, "-created", undefined),
    pageStatement("status = 'running' OR retry_count > 3", "-modified", AFTER),
    pageStatement(undefined, "created", AFTER),
  ];
  expect(statements[0]).toContain("FROM sys_invocation ORDER BY created_at DESC, id LIMIT");
  expect(statements[1]).toContain(
    "WHERE (status = 'running' OR retry_count > 3) AND (epoch_us(modified_at) < 1795000000000123 OR (epoch_us(modified_at) = 1795000000000123 AND id > 'inv_1a'))",
  );
  expect(statements[2]).toContain("epoch_us(created_at) > 1795000000000123 OR");
  expect(statements.join()).not.toContain("OFFSET");
});

test("a full page has one after it, which begins at its last id", () => {
  const ids = Array.from({ length: PAGE_IDS }, (_, i) => `inv_${i}`);
  expect(pageOf([{ ids: ids.join(" "), last_us: 7 }])).toEqual({ ids, next: { atUs: 7, id: ids.at(-1) } });
  expect(pageOf([{ ids: "a b", last_us: 7 }])).toEqual({ ids: ["a", "b"], next: undefined });
  expect(pageOf([{}])).toEqual({ ids: [], next: undefined });
});

test("how many meet a filter is the sum of its statuses", () => {
  const counts = new Map([
    ["running", 5],
    ["succeeded", 70],
    ["failed", 3],
  ]);
  expect(totalOf(counts, {})).toBe(78);
  expect(totalOf(counts, { statuses: ["running"], orEndedWith: ["failure"] })).toBe(8);
  expect(totalOf(counts, { statuses: ["completed"], orEndedWith: ["failure"] })).toBe(73);
  expect(totalOf(counts, { statuses: ["paused"] })).toBe(0);
});
