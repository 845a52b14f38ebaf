/**
 * The engine behind `POST /query`: a statement arrives as text and the result is returned as rows.
 *
 *     check the text ▸ wait for a turn ─┬─▸ plain: gather rows, sort ───────────────┬─▸ rows ▸ encode, chunk by chunk
 *                                       └─▸ other: parse, check again ▸ plan ▸ run ─┤
 *                                                                            ▲      │ columns are missing
 *                                                                            └── gather them: only those, and only rows that can matter
 */
import type { Clock, Logger } from "@perdure/base";
import type { SqlDatabase } from "./duckdb/database.js";
import { encodeJson, JSON_CONTENT_TYPE } from "./encode/json.js";
import type { ResultBatch, ResultRows } from "./encode/result.js";
import { isEngineBroken, refusalOf, refused, TimedOut } from "./errors.js";
import { RETRY_AFTER_SECONDS } from "./limits.js";
import { SQL_ENGINE_DEFAULTS, type SqlEngine, type SqlEngineOptions } from "./options.js";
import { plainQueryOf } from "./plain/parse.js";
import { runPlainQuery } from "./plain/run.js";
import type { IntrospectionSource, SourcePort, SqlAnswer, SqlFormat } from "./ports.js";
import { runStatement } from "./query/run.js";
import { type CheckedStatement, checkStatement } from "./query/statement.js";
import type { SqlTable } from "./table.js";
import { TABLES } from "./tables/index.js";
import { Turns } from "./turns.js";

interface SqlEnginePorts {
  readonly source: SourcePort;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Costs nothing until the first statement, which loads the engine (some 0.3 s and 80 MB). Only tests pass other `tables`. */
export function createSqlEngine(
  { source, clock, logger }: SqlEnginePorts,
  options: Partial<SqlEngineOptions> = {},
  tables: readonly SqlTable[] = TABLES,
): SqlEngine {
  const bounds: SqlEngineOptions = { ...SQL_ENGINE_DEFAULTS, ...options };
  const turns = new Turns(bounds.runningQueriesMax, bounds.waitingQueriesMax);
  const running = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let database: Promise<SqlDatabase> | undefined;

  async function query(text: string, format: SqlFormat, callerSignal: AbortSignal): Promise<SqlAnswer> {
    const statement = checkStatement(text);
    if (statement.kind === "invalid") return refused("invalid", statement.message);
    const signal = AbortSignal.any([callerSignal, closing.signal]);
    try {
      if (!(await turns.begin(signal))) return refused("busy", "too many queries are running", RETRY_AFTER_SECONDS);
      const rows = execute(statement, signal);
      running.add(rows);
      try {
        return await answer(await rows, format);
      } finally {
        running.delete(rows);
        turns.end();
      }
    } catch (cause) {
      if (signal.aborted) return refused("unavailable", "the query was cancelled");
      return refusalOf(cause) ?? failed(cause);
    }
  }

  async function execute(statement: CheckedStatement & { kind: "statement" }, callerSignal: AbortSignal): Promise<ResultRows> {
    const timeout = new AbortController();
    const timer = clock.setTimer(bounds.statementTimeoutMs, () =>
      timeout.abort(new TimedOut(`the query took longer than ${bounds.statementTimeoutMs / 1000} seconds`)),
    );
    const signal = AbortSignal.any([callerSignal, timeout.signal]);
    try {
      await using opened = source.open();
      const plain = plainQueryOf(statement.text, tables);
      const rows = plain && (await runPlainQuery(plain, opened, { bytesLeft: bounds.gatheredBytesMax }, signal, callerSignal));
      return rows ?? (await executeInEngine(statement, opened, signal, callerSignal));
    } catch (cause) {
      throw signal.aborted ? signal.reason : cause; // An interrupted engine throws an error text of its own.
    } finally {
      timer.cancel();
    }
  }

  async function executeInEngine(
    statement: CheckedStatement & { kind: "statement" },
    opened: IntrospectionSource,
    signal: AbortSignal,
    readingSignal: AbortSignal,
  ): Promise<ResultRows> {
    const home = await open();
    const session = home.idle.pop();
    if (session === undefined) throw new Error("there are as many sessions as turns");
    const interrupt = () => session.interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      const ports = { session, source: opened, tables };
      return await runStatement(statement, ports, { bytesLeft: bounds.gatheredBytesMax }, signal, readingSignal);
    } catch (cause) {
      if (isEngineBroken(cause)) database = undefined;
      throw cause;
    } finally {
      signal.removeEventListener("abort", interrupt);
      home.idle.push(session);
    }
  }

  function open(): Promise<SqlDatabase> {
    database ??= load(tables, bounds).catch((cause: unknown) => {
      database = undefined;
      throw cause;
    });
    return database;
  }

  function failed(cause: unknown): SqlAnswer {
    logger.error({ cause }, "a query failed");
    return refused("failed", "the query failed for a reason that is in the server's log");
  }

  return {
    query,
    async [Symbol.asyncDispose]() {
      closing.abort(new Error("the SQL engine is closing"));
      await Promise.allSettled(running);
      (await database)?.close();
    },
  };
}

/** The engine is a large native library, so it is loaded at the first statement. */
async function load(tables: readonly SqlTable[], bounds: SqlEngineOptions): Promise<SqlDatabase> {
  const { openDatabase } = await import("./duckdb/database.js");
  return openDatabase(tables, { sessions: bounds.runningQueriesMax, memoryBytesMax: bounds.engineMemoryBytesMax });
}

/** A failure in the first rows is returned as an error; later failures can only truncate the result. */
async function answer(result: ResultRows, format: SqlFormat): Promise<SqlAnswer> {
  const batches = result.batches[Symbol.asyncIterator]();
  const first = await batches.next();
  const rows: ResultRows = { columns: result.columns, batches: resumed(first, batches) };
  if (format === "json") return { kind: "rows", contentType: JSON_CONTENT_TYPE, chunks: encodeJson(rows) };
  const { ARROW_CONTENT_TYPE, encodeArrow } = await import("./encode/arrow.js");
  return { kind: "rows", contentType: ARROW_CONTENT_TYPE, chunks: encodeArrow(rows) };
}

async function* resumed(first: IteratorResult<ResultBatch>, rest: AsyncIterator<ResultBatch>): AsyncIterable<ResultBatch> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
