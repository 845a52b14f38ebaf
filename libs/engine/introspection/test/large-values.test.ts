/** Values of many megabytes: shown whole or refused with their place, never shortened. */
import { afterAll, describe, expect, test } from "@jest/globals";
import { fromUtf8 } from "@perdure/base";
import { CELL_BYTES_MAX } from "../src/limits.js";
import type { SqlEngine } from "../src/options.js";
import { defineTable } from "../src/table.js";
import { anEngine, arrowOf, NO_SOURCE, refusalOf, request, rowsOf } from "./querying.js";

const MIB = 1024 * 1024;
const engines: SqlEngine[] = [];
afterAll(async () => {
  for (const engine of engines) await engine[Symbol.asyncDispose]();
});

/** Values of these sizes under the keys v0, v1 … of one object; every third has no text. */
function stateOf(sizes: readonly number[], byte = 0xe2): SqlEngine {
  const ofSize = new Map(
    [...new Set(sizes)].map((size) => [size, { value: new Uint8Array(size).fill(byte), text: "\u{1f600}".repeat(size / 8) }]),
  );
  const table = defineTable<{ readonly key: string; readonly value: Uint8Array; readonly text: string | undefined }>({
    name: "state",
    readers: {
      service_name: () => "Big",
      service_key: () => "k",
      key: ({ key }) => key,
      value: ({ value }) => value,
      value_utf8: ({ text }) => text,
    },
    *rows() {
      for (const [i, size] of sizes.entries()) {
        const { value, text } = ofSize.get(size) as { value: Uint8Array; text: string };
        yield { key: `v${i}`, value, text: i % 3 === 2 ? undefined : text };
      }
    },
  });
  const engine = anEngine(NO_SOURCE, {}, [table]);
  engines.push(engine);
  return engine;
}

describe("a value as large as one may be", () => {
  test("is whole in JSON and Arrow", async () => {
    const engine = stateOf([CELL_BYTES_MAX]);
    const json = await request(engine, "select value from state", "json");
    expect(json.length).toBe(CELL_BYTES_MAX * 2 + '{"rows":[{"value":""}]}'.length);
    expect(Buffer.from(json).indexOf("e2".repeat(1000))).toBe(19);
    const [row] = (await arrowOf(engine, "select value from state")).toArray();
    expect(Buffer.from(row?.value as Uint8Array).equals(Buffer.alloc(CELL_BYTES_MAX, 0xe2))).toBe(true);
  });

  test("is a text that any reader of JSON can read", async () => {
    const [row] = await rowsOf(stateOf([4 * MIB]), "select key, value_utf8, 1 as one from state");
    expect(row).toEqual({ key: "v0", value_utf8: "\u{1f600}".repeat(MIB / 2), one: 1 });
  });
});

describe("a value beyond that is refused", () => {
  const code = "META0102";

  test("where it is stored, with its column and the names of its row", async () => {
    expect(await refusalOf(stateOf([1, CELL_BYTES_MAX + 1]), "select value from state")).toMatchObject({
      reason: "invalid",
      code,
      message: `column value of state in the row with service_name = 'Big' and service_key = 'k' and key = 'v1' has ${CELL_BYTES_MAX + 1} bytes, and a value of a query at most ${CELL_BYTES_MAX}: select its length, or leave it out`,
    });
  });

  test("but not where the statement leaves it out", async () => {
    const engine = stateOf([1, CELL_BYTES_MAX + 1]);
    expect(await rowsOf(engine, "select value from state where key = 'v0'")).toEqual([{ value: "e2" }]);
    expect(await rowsOf(engine, "select count(*) as n from state")).toEqual([{ n: 2 }]);
  });

  test("where an expression makes it", async () => {
    const text = "select key, value_utf8 || value_utf8 || value_utf8 as thrice from state";
    expect(await refusalOf(stateOf([8, 24 * MIB, 24 * MIB]), text)).toMatchObject({
      code,
      message: expect.stringMatching(/^column thrice of the result in row 2 has \d+ bytes/),
    });
  });
});

describe("several large values", () => {
  const sizes = Array<number>(30).fill(6 * MIB);

  test("that the engine need not hold at once are read", async () => {
    const engine = stateOf(sizes);
    expect(await rowsOf(engine, "select sum(octet_length(value)) as n from state")).toEqual([{ n: sizes.length * 6 * MIB }]);
    const nulls = await rowsOf(engine, "select key from state where value_utf8 is null and octet_length(value) > 1 order by key");
    expect(nulls).toHaveLength(10);
  });

  test("are refused with the server's own text when they exceed what a statement may read or hold", async () => {
    expect(await refusalOf(stateOf([...sizes, ...sizes]), "select value from state")).toMatchObject({
      reason: "invalid",
      message: expect.stringMatching(/^the query reads too much of state/),
    });
    const many = Array<number>(20).fill(30 * MIB);
    expect(await refusalOf(stateOf(many), "select value from state")).toMatchObject({
      reason: "invalid",
      message: expect.stringMatching(/^the query reads too much of state/),
    });
    expect(fromUtf8(await request(stateOf(many), "select 1 as one", "json"))).toBe('{"rows":[{"one":1}]}');
  });
});
