/** Settings of the engine and their defaults. Apart from the engine, which is loaded late. */
import {
  COMPLETED_BYTES_MAX,
  ENGINE_MEMORY_BYTES_MAX,
  GATHERED_BYTES_MAX,
  PROCESS_BASE_BYTES,
  PROCESS_BYTES_MIN,
  PROCESS_HEAP_BYTES_MAX,
  PROCESS_HEAP_BYTES_MIN,
  RUNNING_QUERIES_MAX,
  SERVER_BYTES,
  STATEMENT_TIMEOUT_MS,
  WAITING_QUERIES_MAX,
} from "./limits.js";
import type { Sql } from "./ports.js";

export interface SqlEngineOptions {
  /** Statements that run at once, each in a process of its own. */
  readonly runningQueriesMax: number;
  readonly waitingQueriesMax: number;
  readonly statementTimeoutMs: number;
  /** Memory for sorts, joins and results of all statements together. */
  readonly engineMemoryBytesMax: number;
  /** Bytes that one statement may read from the tables. */
  readonly gatheredBytesMax: number;
  /** JavaScript heap of a process. */
  readonly heapBytesMax: number;
  /** Completed invocations that a process keeps from statement to statement; 0: none. */
  readonly completedBytesMax: number;
}

export const SQL_ENGINE_DEFAULTS: SqlEngineOptions = {
  runningQueriesMax: RUNNING_QUERIES_MAX,
  waitingQueriesMax: WAITING_QUERIES_MAX,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  engineMemoryBytesMax: ENGINE_MEMORY_BYTES_MAX,
  gatheredBytesMax: GATHERED_BYTES_MAX,
  heapBytesMax: PROCESS_HEAP_BYTES_MAX,
  completedBytesMax: COMPLETED_BYTES_MAX,
};

/** Memory (anonymous, resident) at which a process of statements is killed. */
export function processMemoryBytesMax(options: SqlEngineOptions): number {
  const { engineMemoryBytesMax, gatheredBytesMax, heapBytesMax, completedBytesMax } = options;
  return PROCESS_BASE_BYTES + heapBytesMax + engineMemoryBytesMax + gatheredBytesMax + completedBytesMax;
}

/** Where memory is short, completed invocations get a quarter of what each of the other three parts gets. */
const COMPLETED_PART = 4;

/** All memory bounds for an engine that may use this much for sorts, joins and results: a small engine reads little as well. */
export function memoryOptions(engineMemoryBytesMax: number): Partial<SqlEngineOptions> {
  const share = Math.max(engineMemoryBytesMax, PROCESS_HEAP_BYTES_MIN);
  return {
    engineMemoryBytesMax,
    gatheredBytesMax: Math.min(GATHERED_BYTES_MAX, share),
    heapBytesMax: Math.min(PROCESS_HEAP_BYTES_MAX, share),
    completedBytesMax: Math.min(COMPLETED_BYTES_MAX, Math.floor(share / COMPLETED_PART)),
  };
}

/** The options with which the server and its processes fit into the memory of their container; unchanged without a container. */
export function optionsWithin(options: SqlEngineOptions, containerBytes: number | undefined): SqlEngineOptions {
  if (containerBytes === undefined) return options;
  const freeBytes = Math.max(containerBytes - SERVER_BYTES, PROCESS_BYTES_MIN);
  if (freeBytes >= options.runningQueriesMax * processMemoryBytesMax(options)) return options;
  const runningQueriesMax = Math.max(1, Math.min(options.runningQueriesMax, Math.floor(freeBytes / PROCESS_BYTES_MIN)));
  const share = Math.floor((freeBytes / runningQueriesMax - PROCESS_BASE_BYTES) / (3 + 1 / COMPLETED_PART));
  return {
    ...options,
    runningQueriesMax,
    engineMemoryBytesMax: Math.min(options.engineMemoryBytesMax, share),
    gatheredBytesMax: Math.min(options.gatheredBytesMax, share),
    heapBytesMax: Math.min(options.heapBytesMax, Math.max(share, PROCESS_HEAP_BYTES_MIN)),
    completedBytesMax: Math.min(options.completedBytesMax, Math.floor(share / COMPLETED_PART)),
  };
}

export interface SqlEngine extends AsyncDisposable {
  readonly query: Sql;
}
