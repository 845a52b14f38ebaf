/** Runs a statement in tests and returns its rows, or the reason of a refusal. */
import { concatBytes, fromUtf8, silentLogger, systemClock } from "@perdure/base";
import { tableFromIPC } from "apache-arrow";
import { createSqlEngine } from "../src/engine.js";
import type { SqlEngine, SqlEngineOptions } from "../src/options.js";
import type { IntrospectionSource, SourcePort, SqlAnswer, SqlFormat } from "../src/ports.js";
import type { SqlTable } from "../src/table.js";
import { type JsonRow, parseJson } from "./recorded.js";

/** A source that nothing may read: for engines over tables of their own. */
export const NO_SOURCE = {} as IntrospectionSource;

export function anEngine(
  source: IntrospectionSource,
  options: Partial<SqlEngineOptions> = {},
  tables?: readonly SqlTable[],
): SqlEngine {
  return createSqlEngine({ source: always(source), clock: systemClock, logger: silentLogger }, options, tables);
}

/** The same view for every statement. */
function always(source: IntrospectionSource): SourcePort {
  return { open: () => ({ ...source, [Symbol.asyncDispose]: async () => undefined }) };
}

/** The encoded result. Throws `<reason>: <message>` when refused. */
export async function request(engine: SqlEngine, sql: string, format: SqlFormat): Promise<Uint8Array> {
  const answer = await engine.query(sql, format, new AbortController().signal);
  if (answer.kind === "refused") throw new Error(`${answer.reason}: ${answer.message}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.chunks) chunks.push(chunk);
  return concatBytes(...chunks);
}

export async function rowsOf(engine: SqlEngine, sql: string): Promise<readonly JsonRow[]> {
  const { rows } = parseJson(fromUtf8(await request(engine, sql, "json"))) as { rows: readonly JsonRow[] };
  return rows;
}

/** The Arrow stream as apache-arrow reads it. */
export async function arrowOf(engine: SqlEngine, sql: string) {
  return tableFromIPC(await request(engine, sql, "arrow"));
}

export async function refusalOf(engine: SqlEngine, sql: string): Promise<SqlAnswer & { kind: "refused" }> {
  const answer = await engine.query(sql, "json", new AbortController().signal);
  if (answer.kind === "rows") throw new Error(`not refused: ${sql}`);
  return answer;
}
