/** Why: every bound of this package in one place, each with the reason for its value. */

/** Longest statement: a list of 5,000 ids fits, and neither parser ever chews on a megabyte. */
export const QUERY_CHARS_MAX = 256 * 1024;

/** Statements running at once, each in a process of its own, so that one that takes long does not hold up the next. */
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

/** Largest value that a statement reads or shows: stored ones have at most as much unless an operator raised the limit of messages. */
export const CELL_BYTES_MAX = 32 * 1024 * 1024;

/** Texts that are given to the engine at a time, one of them in any case: it holds these beside what was gathered. */
export const VECTOR_BYTES_MAX = 8 * 1024 * 1024;

/** The engine's vectors hold no more rows. A multiple of 64, which its masks of NULLs need. */
export const ROWS_PER_VECTOR_MAX = 2048;

/** Rows of tables that come one by one are handled so many at a time. */
export const PAGE_ROWS = 256;

/** Values of a result that are read from the engine and encoded between two turns of the process's event loop: some milliseconds. */
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

/** Values of a column, found in other tables, by which a table is narrowed: so many look-ups cost less than reading a large table. */
export const KEYS_MAX = 10_000;

/** How much is read of a table without a filter, in comparison: a few rows of memory, a row for each invocation, or all they did and hold. */
export function tableCost(table: string): number {
  if (LARGE_TABLES.has(table)) return 3;
  return SMALL_TABLES.has(table) ? 1 : 2;
}
const LARGE_TABLES: ReadonlySet<string> = new Set(["sys_journal", "sys_journal_events", "state"]);
const SMALL_TABLES: ReadonlySet<string> = new Set([
  ...[
    "sys_invocation_state",
    "sys_deployment",
    "sys_service",
    "sys_rules",
    "sys_schedule",
    "sys_slot_wait",
    "sys_node",
    "sys_partition",
    "sys_keyed_service_status",
  ],
]);

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

/** Rows of the server's memory that go to a process of statements at a time: well under a millisecond of the main thread. */
export const LIVE_PAGE_ROWS = 256;

/** Stored rows that go to a process of statements at a time: their copy costs the main thread a fraction of a millisecond. */
export const STORE_PAGE_BYTES = 256 * 1024;
export const STORE_PAGE_ROWS = 2048;

/** Keys that the store looks up in one step. Their values are in the server's memory together, and one may have 32 MB. */
export const STORE_KEYS_AT_ONCE = 32;

/** JavaScript heap of a process of statements; rows and results lie outside of it and have their own bounds. */
export const PROCESS_HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Node and the decoded rows of some pages need this much. */
export const PROCESS_HEAP_BYTES_MIN = 64 * 1024 * 1024;

/** What a process holds before its first statement, and stored values on their way: measured 90 MB, and one value may have 32 MB. */
export const PROCESS_BASE_BYTES = 128 * 1024 * 1024;

/** What the server itself needs of a memory that it shares with its processes of statements. */
export const SERVER_BYTES = 256 * 1024 * 1024;

/** Below this much for each of two processes only one is started. */
export const PROCESS_BYTES_MIN = 224 * 1024 * 1024;

/** How often the memory of a process is read while it runs statements: what it takes in between is some 50 MB. */
export const MEMORY_CHECK_EVERY_MS = 50;

/**
 * Address space beyond its memory that a process may map (RLIMIT_DATA): Node and the engine reserve 600 MiB that they do
 * not use. An allocation beyond it fails at once, however fast it is.
 */
export const PROCESS_RESERVED_BYTES = 1024 * 1024 * 1024;

/** How much a process of statements stands back behind the server (0 not at all, 19 entirely). At 19 statements starve on a busy machine: a count took 9 s. */
export const PROCESS_NICENESS = 10;

/** A statement that goes on so long after its time is over is in a step that no interrupt ends; its process is killed. */
export const INTERRUPT_GRACE_MS = 1000;

/** A process without statements ends after this: a console that polls keeps it, an idle server has its memory back. */
export const PROCESS_IDLE_MS = 60_000;

/** Processes of one slot that ended by themselves within `PROCESS_STARTS_WINDOW_MS`; one that fails again and again must not take the machine's time. */
export const PROCESS_STARTS_MAX = 5;
export const PROCESS_STARTS_WINDOW_MS = 60_000;

/** Longest pause before the place of a process that was killed is taken by another; the pause is a random part of it. */
export const RESTART_PAUSE_MS_MAX = 250;

/** Bytes that a process sends of a result at a time. */
export const CHUNK_BYTES_MAX = 256 * 1024;

/** What is kept of the last words of a process, for the log. */
export const STDERR_CHARS_MAX = 4096;

/** Ranges of the store that are requested before it is their turn: each costs a way to the server and back, and there are two for each partition. */
export const RANGES_AHEAD = 8;
/** Rows of a LIMIT above which most ranges are read anyway. */
export const LIMIT_AHEAD_MIN = 1000;

/** How long closing waits until the thread has let go of the store; then it is ended. */
export const STORE_THREAD_CLOSE_MS = 3000;

/** Reads of the store that the server makes at once for all statements: each takes one of the four threads that commits need as well. */
export const STORE_READS_AT_ONCE = 2;

/** Journals (and lists of events) that are requested before the first of them has come: most have a few hundred bytes. */
export const JOURNALS_AHEAD = 8;
/** A longer journal ends that, for there may be many such. */
export const JOURNAL_BYTES_AHEAD_MAX = 1024 * 1024;

/** Invocations looked up by id in one go: one round trip to a store behind a network, of some hundred kilobytes. */
export const IDS_AT_ONCE = 256;
