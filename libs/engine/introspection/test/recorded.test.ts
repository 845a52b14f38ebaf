/** Statements of the official CLI and of users, run over recorded rows: the results must be the recorded ones. */
import { afterAll, expect, test } from "@jest/globals";
import { TABLE_NAMES } from "../src/schema.js";
import { anEngine, arrowOf, NO_SOURCE, rowsOf } from "./querying.js";
import { type JsonRow, type RecordedStatement, recordedTable, recording } from "./recorded.js";

const engine = anEngine(NO_SOURCE, {}, TABLE_NAMES.map(recordedTable));
afterAll(async () => engine[Symbol.asyncDispose]());

/** `first_value` without an order may take any row of the group. */
const ANY_OF_GROUP = new Map([
  ["Q4", new Set(["service_name", "service_key", "invocation_status", "num_pending", "num_retries"])],
]);

/** Types that are other than the reference's and read alike by clients. */
const OTHER_TYPES = new Map([
  ["Q4", { "num_retries: Uint64": "num_retries: Int64" }], // Sums are 128 bits wide to our engine.
  ["date_bin", { "bucket: Timestamp<NANOSECOND, +00:00>": "bucket: Timestamp<MILLISECOND, +00:00>" }],
]);

test.each(recording.statements.map((statement): [string, RecordedStatement] => [statement.name, statement]))(
  "%s is answered as recorded",
  async (name, { sql, rows, types }) => {
    const kept = ANY_OF_GROUP.get(name);
    expect(comparable(await rowsOf(engine, sql), kept)).toEqual(comparable(rows, kept));
    const table = await arrowOf(engine, sql);
    expect(table.schema.fields.map((field) => `${field.name}: ${field.type}`)).toEqual(
      types.map((type) => expectedType(name, type)),
    );
    expect(table.numRows).toBe(rows.length);
  },
);

test("rows come in the order of the statement", async () => {
  const ordered = recording.statements.filter(({ name }) => /^(Q5|Q5_asc|Q10|Q10_steps|Q14|like|distinct)$/.test(name));
  expect(ordered.length).toBeGreaterThan(4);
  for (const { sql, rows } of ordered) expect(await rowsOf(engine, sql)).toEqual(rows);
});

test("counts are 64-bit integers, which the CLI insists on", async () => {
  for (const name of ["Q7", "Q9", "Q10a", "Q10b"]) {
    const statement = recording.statements.find((each) => each.name === name);
    const table = await arrowOf(engine, statement?.sql ?? "");
    expect([name, String(table.schema.fields[0]?.type), typeof table.getChildAt(0)?.get(0)]).toEqual([name, "Int64", "bigint"]);
  }
});

test("values survive the Arrow stream, nulls, lists and bytes included", async () => {
  const table = await arrowOf(
    engine,
    "select service_key, key, value, value_utf8, value_length, partition_key from state where service_key in ('c1', 'c3') order by service_key",
  );
  const [first, second] = table.toArray().map((row) => row.toJSON());
  expect(first).toEqual({
    service_key: "c1",
    key: "count",
    value: new Uint8Array([0x31, 0x32]),
    value_utf8: "12",
    value_length: 2n,
    partition_key: 6053440827282444177n,
  });
  expect(second).toMatchObject({ service_key: "c3", value: new Uint8Array([0, 255, 254, 65]), value_utf8: null });
  const lists = await arrowOf(engine, "select services from sys_deployment order by created_at");
  expect(lists.toArray().map((row) => [...(row.services as Iterable<string>)])).toEqual([
    ["Configured", "Counter", "Wf", "Greeter", "Internal"],
    ["Greeter", "Counter"],
  ]);
});

function comparable(rows: readonly JsonRow[], kept: ReadonlySet<string> | undefined): string[] {
  return rows.map((row) => rowText(row, kept)).sort();
}

function rowText(row: JsonRow, kept: ReadonlySet<string> | undefined): string {
  const shown = Object.entries(row).filter(([column]) => kept === undefined || kept.has(column));
  return shown
    .map(([column, value]) => `${column}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .sort()
    .join("|");
}

function expectedType(statement: string, type: string): string {
  const other = OTHER_TYPES.get(statement) as Record<string, string> | undefined;
  return other?.[type] ?? type.replace(/: Utf8(?:View)?$/, ": LargeUtf8"); // All texts are of one type here.
}
