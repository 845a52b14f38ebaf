/** Rows recorded from the commit before version 0.1.0 (`recorder/record-rows.ts`): every later version reads the same values in them. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { InvocationFields, KvPartitionStore, MemoryKeyValue } from "../src/index.js";
import { parseRecordedRows } from "../src/testing/recorded-rows.js";
import { partitionReads } from "./partition-reads.js";
import { fromBase64, recordedJson } from "./recorded-json.js";
import { ROW_CODECS } from "./row-codecs.js";

interface RecordedRow {
  readonly form: string;
  readonly row: string;
  readonly value: unknown;
}
interface RecordedPartition {
  readonly rows: readonly (readonly [key: string, value: string])[];
  readonly reads: unknown;
}

const recorded = <T>(name: string): T => parseRecordedRows(readFileSync(new URL(`../testdata/${name}`, import.meta.url), "utf8"));
const rows = recorded<readonly RecordedRow[]>("rows.v1.json");
const ofForm = (form: string): readonly RecordedRow[] => rows.filter((row) => row.form === form);
/** Values of a field of the recorded values of a form, each once. */
const valuesOf = (form: string, field: (value: never) => unknown): unknown[] =>
  [...new Set(ofForm(form).map(({ value }) => field(value as never)))].sort();

/** The partition that was recorded. */
const PARTITION = 129;

test.each(Object.keys(ROW_CODECS))("recorded rows of the form '%s' decode to the recorded values", (form) => {
  const codec = ROW_CODECS[form] as (typeof ROW_CODECS)[string];
  expect(ofForm(form).length).toBeGreaterThan(0);
  for (const { row, value } of ofForm(form)) expect(recordedJson(codec.decode(fromBase64(row)))).toEqual(value);
});

test.each(Object.keys(ROW_CODECS))("a value of the form '%s' that is written again is the same value", (form) => {
  const { encode, decode } = ROW_CODECS[form] as (typeof ROW_CODECS)[string];
  for (const { row, value } of ofForm(form))
    expect(recordedJson(decode(encode(decode(fromBase64(row)) as never)))).toEqual(value);
});

test("every kind and variant is among the recorded rows", () => {
  expect(valuesOf("invocation", ({ status }) => status)).toEqual(
    ["completed", "inboxed", "invoked", "paused", "ready", "scheduled", "suspended"].sort(),
  );
  expect(new Set(ofForm("invocation").map(({ row }) => fromBase64(row)[0]))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
  expect(valuesOf("invocation", ({ facts }: { facts: { source: { kind: string } } }) => facts.source.kind)).toEqual(
    ["ingress", "restart", "service", "subscription"].sort(),
  );
  expect(valuesOf("invocation", ({ outcome }: { outcome?: { kind: string } }) => outcome?.kind)).toEqual([
    "failure",
    "success",
    undefined,
  ]);
  expect(valuesOf("event", ({ kind }) => kind)).toEqual(["paused", "transientError"]);
  expect(valuesOf("inbox", ({ kind }) => kind)).toEqual(["invocation", "stateMutation"]);
  expect(valuesOf("promise", ({ kind }) => kind)).toEqual(["completed", "pending"]);
  expect(valuesOf("pause", ({ lock }) => lock !== undefined)).toEqual([false, true]);
  expect(valuesOf("outbox", ({ kind }) => kind)).toEqual(["attach", "invoke", "kill", "notify", "queryOutput", "signal"]);
});

test("introspection reads the same fields from recorded invocations", () => {
  const fields = new InvocationFields();
  for (const { row, value } of ofForm("invocation")) {
    fields.load(fromBase64(row));
    const { facts, status } = value as {
      facts: { id: string; createdAtMs: number; target: { handler: string } };
      status: string;
    };
    expect([fields.status, fields.invocationId, fields.facts.createdAtMs, fields.text(fields.facts.handler)]).toEqual([
      status,
      facts.id,
      facts.createdAtMs,
      facts.target.handler,
    ]);
  }
});

test("a recorded partition with a row under every kind of key reads as it was recorded", async () => {
  const partition = recorded<RecordedPartition>("partition.v1.json");
  const kv = new MemoryKeyValue();
  await kv.write(
    new Map(partition.rows.map(([key, value]) => [Buffer.from(key, "base64").toString("latin1"), fromBase64(value)])),
  );
  const tables = new Set([...kv.snapshot().keys()].map((key) => key[2]));
  expect([...tables].sort().join("")).toBe("cdefijlopqrstv");
  await using store = new KvPartitionStore(kv);
  expect(recordedJson(await partitionReads(store, PARTITION))).toEqual(partition.reads);
  expect(await store.claim(PARTITION)).toBe(2);
});

test("a row with a status or a kind of a later version is refused with STO0003", () => {
  const [{ row }] = ofForm("invocation") as [RecordedRow];
  const later = fromBase64(row);
  later[0] = 99;
  expect(() => ROW_CODECS["invocation"]?.decode(later)).toThrow(expect.objectContaining({ code: "STO0003" }));
  const [outbox] = ofForm("outbox") as [RecordedRow];
  const kind = fromBase64(outbox.row);
  kind[1] = 99; // Field 1 is the first: its tag, then the kind.
  expect(() => ROW_CODECS["outbox"]?.decode(kind)).toThrow(expect.objectContaining({ code: "STO0003" }));
});
