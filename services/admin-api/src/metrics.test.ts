import { describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { Metrics } from "@perdure/telemetry";
import { measuredSql } from "./metrics.js";
import type { StatementAnswer } from "./ports.js";

async function* twoChunks(): AsyncIterable<Uint8Array> {
  yield new Uint8Array(3);
  yield new Uint8Array(4);
}

async function read(answer: StatementAnswer): Promise<void> {
  if (answer.kind === "rows") for await (const _ of answer.chunks);
}

const linesOf = (metrics: Metrics, name: string): readonly string[] =>
  metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name));

describe("statements", () => {
  test("are labelled by their first table, and by nothing else of their text", async () => {
    const metrics = new Metrics();
    const sql = measuredSql(async () => ({ kind: "rows", chunks: twoChunks() }), metrics, systemClock);
    const signal = AbortSignal.timeout(10_000);
    for (const text of ["SELECT id FROM sys_invocation WHERE id = 'x'", "select * from secrets", "SELECT 1"])
      await read(await sql(text, "json", signal));
    expect(linesOf(metrics, "perdure_admin_query_bytes_total")).toEqual([
      'perdure_admin_query_bytes_total{table="sys_invocation"} 7',
      'perdure_admin_query_bytes_total{table="other"} 14',
    ]);
    expect(linesOf(metrics, "perdure_admin_query_duration_seconds_count")).toHaveLength(2);
  });

  test("are measured when they are refused, too", async () => {
    const metrics = new Metrics();
    const refused = { kind: "refused", reason: "busy", message: "full", retryAfterSeconds: 1 } as const;
    const sql = measuredSql(async () => refused, metrics, systemClock);
    expect(await sql("SELECT 1 FROM state", "json", AbortSignal.timeout(10_000))).toBe(refused);
    expect(linesOf(metrics, "perdure_admin_query_duration_seconds_count")).toEqual([
      'perdure_admin_query_duration_seconds_count{table="state"} 1',
    ]);
  });
});
