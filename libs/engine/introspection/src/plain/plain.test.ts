import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { anEngine, arrowOf, NO_SOURCE, request } from "../../test/querying.js";
import { type JsonRow, parseJson } from "../../test/recorded.js";
import type { ColumnHeader, RowPage, SqlTable, SqlValue } from "../table.js";
import { plainQueryOf } from "./parse.js";

const COLUMNS: readonly ColumnHeader[] = [
  { name: "id", type: "text" },
  { name: "key", type: "text" },
  { name: "index", type: "u32" },
  { name: "size", type: "u64" },
  { name: "is_active", type: "bool" },
  { name: "raw", type: "bytes" },
  { name: "created_at", type: "timestamp" },
  { name: "took", type: "duration" },
  { name: "parts", type: "u32List" },
  { name: "names", type: "textList" },
];
/** None with a byte order mark, which the client library of the engine drops. */
const TEXTS = ["", "a", "A", "b", "ab", "it's", "ä", "\u{1F600}", "\uFFFF", "a text of more than twelve bytes"];
const ROWS: readonly (readonly SqlValue[])[] = Array.from({ length: 120 }, (_, n) => [
  `id_${n}`,
  n % 7 === 0 ? undefined : TEXTS[n % TEXTS.length],
  n % 5 === 0 ? undefined : (n * 7919) % 10,
  n % 11 === 0 ? undefined : n % 3 === 0 ? 2n ** 64n - BigInt(n) : n % 4,
  n % 6 === 0 ? undefined : n % 2 === 0,
  n % 13 === 0 ? undefined : new Uint8Array([n & 255, 0, 255]),
  n % 9 === 0 ? undefined : 1_700_000_000_000 + ((n * 104_729) % 50),
  n % 8 === 0 ? undefined : (n % 10) * 86_400_000,
  n % 10 === 0 ? undefined : [n, n + 1],
  n % 12 === 0 ? undefined : ["x", String(n)],
]);

const things: SqlTable = {
  name: "things",
  columns: COLUMNS,
  async *scan() {
    let current = 0;
    const read = (column: number): SqlValue => ROWS[current]?.[column];
    const page: RowPage = {
      rowCount: ROWS.length,
      go: (row) => {
        current = row;
      },
      read,
      append: (column, into) => into.push(read(column)),
    };
    yield page;
  },
};

const engine = anEngine(NO_SOURCE, {}, [things]);
afterAll(async () => engine[Symbol.asyncDispose]());

const isPlain = (sql: string): boolean => plainQueryOf(sql, [things]) !== undefined;
/** Each row as JSON. */
async function jsonRows(sql: string): Promise<readonly string[]> {
  const { rows } = parseJson(Buffer.from(await request(engine, sql, "json")).toString()) as { readonly rows: readonly JsonRow[] };
  return rows.map((row) => JSON.stringify(Object.entries(row).map(([name, value]) => [name, String(value)])));
}

describe("a plain query", () => {
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const name = fc.constantFrom(...COLUMNS.map((column) => column.name));
  const text = fc.constantFrom(...TEXTS).map(quoted);
  const integer = fc.constantFrom("0", "1", "3", "7", "999999999999999");
  const values = (constant: fc.Arbitrary<string>, columns: readonly string[]) =>
    fc
      .tuple(
        fc.constantFrom(...columns),
        fc.constantFrom("=", "==", "!=", "<>", " IN "),
        fc.array(constant, { minLength: 1, maxLength: 4 }),
      )
      .map(([column, operator, list]) => `${column}${operator}${operator === " IN " ? `(${list.join(", ")})` : list[0]}`);
  const where = fc.array(fc.oneof(values(text, ["key", "t.key"]), values(integer, ["index", "size"])), { maxLength: 3 });
  const orderKey = fc.tuple(
    fc.constantFrom("key", "index", "size", "is_active", "created_at", "took"),
    fc.constantFrom("", " ASC", " desc"),
  );
  const plain = fc.record({
    items: fc.oneof(
      fc.constant(["*"]),
      fc.array(
        fc.tuple(name, fc.constantFrom("", " AS Shown")).map((item) => item.join("")),
        { minLength: 1, maxLength: 5 },
      ),
    ),
    where,
    order: fc.array(
      orderKey.map((key) => key.join("")),
      { maxLength: 2 },
    ),
    limit: fc.option(fc.constantFrom(0, 1, 10, 119, 10_000), { nil: undefined }),
  });

  test("has the result that the engine has for it", async () => {
    await fc.assert(
      fc.asyncProperty(plain, async ({ items, where, order, limit }) => {
        // The id orders rows of equal keys, which are in no particular order otherwise.
        const sql = [
          `SELECT ${items.join(", ")} FROM things t`,
          where.length > 0 ? `WHERE ${where.join(" AND ")}` : "",
          `ORDER BY ${[...order, "id"].join(", ")}`,
          limit === undefined ? "" : `LIMIT ${limit}`,
        ].join(" ");
        expect(isPlain(sql)).toBe(true);
        expect(isPlain(`(${sql})`)).toBe(false);
        const [ownRows, otherRows] = [await jsonRows(sql), await jsonRows(`(${sql})`)];
        expect(ownRows.find((row, i) => row !== otherRows[i])).toBe(undefined);
        expect(ownRows).toHaveLength(otherRows.length);
        const [own, other] = [await arrowOf(engine, sql), await arrowOf(engine, `(${sql})`)];
        expect(String(own.schema)).toBe(String(other.schema));
        expect(own.toArray().map(String)).toEqual(other.toArray().map(String));
      }),
      { numRuns: 150 },
    );
  });

  test("that counts has the result that the engine has for it", async () => {
    const counted = fc.tuple(fc.constantFrom("count(*)", "COUNT(1)", "count(*) AS n"), where);
    await fc.assert(
      fc.asyncProperty(counted, async ([item, where]) => {
        const sql = `SELECT ${item} FROM things t ${where.length > 0 ? `WHERE ${where.join(" AND ")}` : ""}`;
        expect(isPlain(sql)).toBe(true);
        expect(await jsonRows(sql)).toEqual(await jsonRows(`(${sql})`));
        expect(String((await arrowOf(engine, sql)).schema)).toBe(String((await arrowOf(engine, `(${sql})`)).schema));
      }),
      { numRuns: 50 },
    );
  });

  test("without ORDER BY has as many rows of the filter as its LIMIT", async () => {
    expect(await jsonRows("SELECT id FROM things WHERE index = 3 LIMIT 4")).toHaveLength(4);
  });
});

test.each([
  "SELECT id FROM other",
  "SELECT ID FROM things",
  "SELECT id, missing FROM things",
  "SELECT x.id FROM things t",
  "SELECT things.id FROM things t",
  "SELECT count(*), id FROM things",
  "SELECT count(id) FROM things",
  "SELECT count(2) FROM things",
  "SELECT count(*) FROM things ORDER BY id",
  "SELECT count(*) FROM things LIMIT 0",
  "SELECT count FROM things",
  "SELECT DISTINCT id FROM things",
  "SELECT id AS key FROM things ORDER BY key",
  "SELECT id FROM things, things t",
  "SELECT id FROM things t JOIN things u USING (id)",
  "SELECT id FROM things WHERE id = 1",
  "SELECT id FROM things WHERE size = 1000000000000000",
  "SELECT id FROM things WHERE index = 01",
  "SELECT id FROM things WHERE index = 1.0",
  "SELECT id FROM things WHERE index = -1",
  "SELECT id FROM things WHERE id = E'a'",
  "SELECT id FROM things WHERE id = 'a' OR id = 'b'",
  "SELECT id FROM things WHERE id = 'a' AND id LIKE 'a%'",
  "SELECT id FROM things WHERE id = 'a' || 'b'",
  "SELECT id FROM things WHERE id = key",
  "SELECT id FROM things WHERE id ! = 'a'",
  "SELECT id FROM things WHERE raw = 'a'",
  "SELECT id FROM things WHERE id NOT IN ('a')",
  "SELECT id FROM things WHERE id IN ()",
  "SELECT id FROM things ORDER BY 1",
  "SELECT id FROM things ORDER BY raw",
  "SELECT id FROM things ORDER BY id NULLS FIRST",
  "SELECT id FROM things ORDER BY id COLLATE nocase",
  "SELECT id FROM things LIMIT 10 OFFSET 2",
  "SELECT id FROM things LIMIT 10%",
  "SELECT id FROM things LIMIT 1000000000000",
  "SELECT id FROM things UNION SELECT id FROM things",
  "(SELECT id FROM things)",
  "EXPLAIN SELECT id FROM things",
  "VALUES (1)",
  "SELECT id FROM things WHERE id = 'a",
])("is left to the engine: %s", (sql) => {
  expect(isPlain(sql)).toBe(false);
});
