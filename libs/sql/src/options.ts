/** Why: what an operator may set of the engine, and what holds when nobody does. Apart from the engine, which is loaded late. */
import {
  ENGINE_MEMORY_BYTES_MAX,
  GATHERED_BYTES_MAX,
  RUNNING_QUERIES_MAX,
  STATEMENT_TIMEOUT_MS,
  WAITING_QUERIES_MAX,
} from "./limits.js";
import type { Sql } from "./ports.js";

export interface SqlEngineOptions {
  /** Statements that run at once, each in a process of its own. */
  readonly runningQueriesMax: number;
  readonly waitingQueriesMax: number;
  readonly statementTimeoutMs: number;
  /** For sorts, joins and results of all statements together. */
  readonly engineMemoryBytesMax: number;
  /** What one statement may read from the tables. */
  readonly gatheredBytesMax: number;
}

export const SQL_ENGINE_DEFAULTS: SqlEngineOptions = {
  runningQueriesMax: RUNNING_QUERIES_MAX,
  waitingQueriesMax: WAITING_QUERIES_MAX,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  engineMemoryBytesMax: ENGINE_MEMORY_BYTES_MAX,
  gatheredBytesMax: GATHERED_BYTES_MAX,
};

export interface SqlEngine extends AsyncDisposable {
  readonly query: Sql;
}
