/** Why: every bound of this package in one place, each with the reason for its value. */

/** Longest statement: a list of 5,000 ids fits, and neither parser ever chews on a megabyte. */
export const QUERY_CHARS_MAX = 256 * 1024;

/** Statements running at once. Each holds one of Node's four pool threads, and commits of the store must never wait for both others. */
export const RUNNING_QUERIES_MAX = 2;

/** Statements that wait for their turn; whoever comes later is told to try again. */
export const WAITING_QUERIES_MAX = 32;

/** What a caller turned away for lack of a turn is asked to wait. */
export const RETRY_AFTER_SECONDS = 1;

/** A statement is stopped after this. The official CLI gives up after 13 seconds; people at a console wait somewhat longer. */
export const STATEMENT_TIMEOUT_MS = 60_000;

/** Memory the engine may use for sorts, joins and results of all statements together. */
export const ENGINE_MEMORY_BYTES_MAX = 256 * 1024 * 1024;

/** Row data one statement may gather from the partitions before it is refused: some 100,000 invocations with all columns. */
export const GATHERED_BYTES_MAX = 256 * 1024 * 1024;

/** The engine's vectors hold no more rows. A multiple of 64, which its masks of NULLs need. */
export const ROWS_PER_VECTOR_MAX = 2048;

/** Rows of tables that come one by one are handled so many at a time. */
export const PAGE_ROWS = 256;

/** Values of a result that are read from the engine and encoded between two turns of the thread's event loop: some milliseconds. */
export const CELLS_PER_TURN = 16_384;

/** However many columns there are, this many rows go at a time: a turn must be worth its overhead. */
export const ROWS_PER_TURN_MIN = 64;

/** Rows of so many columns that one turn handles. */
export function rowsPerTurn(columns: number): number {
  return Math.min(ROWS_PER_VECTOR_MAX, Math.max(ROWS_PER_TURN_MIN, Math.floor(CELLS_PER_TURN / Math.max(columns, 1))));
}

/** `ORDER BY time LIMIT n` keeps count of the best rows while it reads; beyond this many the engine sorts all. */
export const TOP_ROWS_MAX = 10_000;

/** Tables, views and table functions a statement may name, each time counted: planning thirty joins takes 0.2 s, a hundred most of a minute. */
export const TABLE_REFERENCES_MAX = 32;

/** SELECTs in a statement, those of subqueries and UNIONs counted: thousands take the planner a minute and gigabytes. */
export const QUERY_PARTS_MAX = 256;

/** JSON text is handed on when it is this long: large enough for a write to be worth it. */
export const JSON_CHUNK_CHARS = 64 * 1024;

/** Encoded chunks of a result that are on their way before the reader asks for more; a chunk is some 64 KiB. */
export const CHUNKS_AHEAD = 4;

/** A result that nobody reads for so long is dropped, and what the engine holds of it with it. */
export const READ_STALL_MS = 60_000;

/** Encoded size of one result. The answer is cut off there: who wants that much should ask for parts. */
export const RESULT_BYTES_MAX = 512 * 1024 * 1024;

/** Results that may be being read while others run and wait: each holds rows in the engine. */
export const OPEN_RESULTS_MAX = 16;

/** Rows of the process's memory that go to the thread at a time: well under a millisecond of the main thread. */
export const LIVE_PAGE_ROWS = 256;

/** JavaScript heap of the thread; rows and results lie outside of it and have their own bounds. */
export const THREAD_HEAP_MB_MAX = 256;

/**
 * Of which for the young. When the heap is full Node lets it grow by 16 MiB while it ends the thread; a collection that moves more than
 * that out of the young generation at once would end the process instead.
 */
export const THREAD_YOUNG_HEAP_MB_MAX = 12;

/** Threads started within `THREAD_STARTS_WINDOW_MS`; one that dies again and again must not take the process's time. */
export const THREAD_STARTS_MAX = 5;
export const THREAD_STARTS_WINDOW_MS = 60_000;

/** A thread that has statements and says nothing for the time of a statement and this counts as dead. Longer than a reader may pause. */
export const OVERDUE_MS = 70_000;

/** How long closing waits for the thread; then the process goes on without it. */
export const THREAD_CLOSE_MS = 3000;

/** Invocations looked up by id in one go: one round trip to a store behind a network, of some hundred kilobytes. */
export const IDS_AT_ONCE = 256;
