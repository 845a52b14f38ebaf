import { expect, test } from "@jest/globals";
import { concatBytes, fromUtf8 } from "@perdure/base";
import { JSON_CHUNK_CHARS } from "../limits.js";
import { encodeJson } from "./json.js";
import type { ColumnValues, ResultBatch, ResultType } from "./result.js";

async function chunksOf(
  columns: readonly (readonly [string, ResultType])[],
  batches: readonly ResultBatch[],
): Promise<Uint8Array[]> {
  async function* all() {
    yield* batches;
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeJson({ columns: columns.map(([name, type]) => ({ name, type })), batches: all() }))
    chunks.push(chunk);
  return chunks;
}

/** The text of one column named `v`. */
async function textOf(column: ColumnValues): Promise<string> {
  const batch: ResultBatch = { rowCount: column.values.length, columns: [column] };
  return fromUtf8(concatBytes(...(await chunksOf([["v", typeOf(column)]], [batch]))));
}

function typeOf(column: ColumnValues): ResultType {
  return column.kind === "list" ? { kind: "list", items: typeOf(column.items) } : { kind: column.kind };
}

const NS = 1_000_000_000n;

test.each<[string, ColumnValues, string]>([
  ["no rows", { kind: "text", values: [] }, ""],
  ["null is left out", { kind: "text", values: [null, "a"] }, '{},{"v":"a"}'],
  ["text is escaped", { kind: "text", values: ['"\n\u0000ü'] }, '{"v":"\\"\\n\\u0000ü"}'],
  ["booleans", { kind: "bool", values: [true, false] }, '{"v":true},{"v":false}'],
  ["large integers are bare digits", { kind: "uint64", values: [18446744073709551615n] }, '{"v":18446744073709551615}'],
  ["negative integers", { kind: "int64", values: [-9223372036854775808n] }, '{"v":-9223372036854775808}'],
  [
    "floats keep a fraction",
    { kind: "float64", values: [1, 0.5, -3, 1e21, Number.NaN] },
    '{"v":1.0},{"v":0.5},{"v":-3.0},{"v":1e+21},{}',
  ],
  ["bytes are hex", { kind: "bytes", values: [new Uint8Array([0, 255, 65])] }, '{"v":"00ff41"}'],
  [
    "instants",
    { kind: "instant", values: [0n, 1795245950475n, -1n] },
    '{"v":"1970-01-01T00:00:00Z"},{"v":"2026-11-21T07:25:50.475Z"},{"v":"1969-12-31T23:59:59.999Z"}',
  ],
  [
    "wall times",
    { kind: "wallTime", values: [NS, NS + 120_000n, NS + 1n] },
    '{"v":"1970-01-01T00:00:01"},{"v":"1970-01-01T00:00:01.000120"},{"v":"1970-01-01T00:00:01.000000001"}',
  ],
  ["dates", { kind: "date", values: [20778] }, '{"v":"2026-11-21"}'],
  [
    "durations",
    { kind: "duration", values: [0n, 1n, 86_400_000n, 1500n, -250n] },
    '{"v":"P0D"},{"v":"PT0.001S"},{"v":"PT86400S"},{"v":"PT1.5S"},{"v":"-PT0.25S"}',
  ],
  [
    "lists",
    {
      kind: "list",
      values: [{ start: 0, end: 2 }, { start: 2, end: 2 }, null, { start: 2, end: 3 }],
      items: { kind: "text", values: ["a", null, "b"] },
    },
    '{"v":["a",null]},{"v":[]},{},{"v":["b"]}',
  ],
  ["columns of nothing", { kind: "null", values: [null] }, "{}"],
])("%s", async (_what, column, rows) => {
  expect(await textOf(column)).toBe(`{"rows":[${rows}]}`);
});

test("rows of several batches are one list, handed on in pieces", async () => {
  const long = "x".repeat(JSON_CHUNK_CHARS / 2);
  const batch: ResultBatch = {
    rowCount: 2,
    columns: [
      { kind: "text", values: [long, "b"] },
      { kind: "uint32", values: [1, null] },
    ],
  };
  const chunks = await chunksOf(
    [
      ["a", { kind: "text" }],
      ["n", { kind: "uint32" }],
    ],
    [batch, batch, batch],
  );
  expect(chunks.length).toBe(2);
  const row = { a: long, n: 1 };
  expect(JSON.parse(fromUtf8(concatBytes(...chunks)))).toEqual({ rows: [row, { a: "b" }, row, { a: "b" }, row, { a: "b" }] });
});
