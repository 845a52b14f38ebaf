/** Bounds of this package, each with the reason for its value. */

/** Longest statement: a list of 5,000 ids fits, and neither parser receives a megabyte. */
export const QUERY_CHARS_MAX = 256 * 1024;

/** Statements that run at once, each in a process of its own, so that a slow statement does not delay the next. */
export const RUNNING_QUERIES_MAX = 2;

/** Statements that wait for their turn; later ones are refused with the advice to retry. */
export const WAITING_QUERIES_MAX = 32;

/** Seconds after which a client that was refused for lack of a turn should retry. */
export const RETRY_AFTER_SECONDS = 1;

/** Time limit of a statement. The official CLI gives up after 13 seconds; users of the console wait somewhat longer. */
export const STATEMENT_TIMEOUT_MS = 60_000;

/** Memory the engine may use for sorts, joins and results of all statements together. */
export const ENGINE_MEMORY_BYTES_MAX = 256 * 1024 * 1024;

/** Row data one statement may gather from the partitions before it is refused: some 100,000 invocations with all columns. */
export const GATHERED_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Largest value that a statement reads or shows: stored values have at most this size unless an operator raised the limit of messages.
 */
export const CELL_BYTES_MAX = 32 * 1024 * 1024;

/** Bytes of one payload that are listed as numbers: their text has at most 1 MiB. */
export const LISTED_BYTES_MAX = 256 * 1024;

/** Bytes of texts that are given to the engine at a time, at least one text: the engine holds these beside the gathered rows. */
export const VECTOR_BYTES_MAX = 8 * 1024 * 1024;

/** Maximum of rows in the engine's vectors. A multiple of 64, which the engine's masks of NULLs need. */
export const ROWS_PER_VECTOR_MAX = 2048;

/** Number of rows handled at a time for tables whose rows come one by one. */
export const PAGE_ROWS = 256;

/** Values of a result that are read from the engine and encoded between two turns of the process's event loop: some milliseconds. */
const CELLS_PER_TURN = 16_384;

/** Minimum of rows handled at a time, however many columns there are: a turn must be worth its overhead. */
const ROWS_PER_TURN_MIN = 64;

/** Rows that one turn handles for this number of columns. */
export function rowsPerTurn(columns: number): number {
  return Math.min(ROWS_PER_VECTOR_MAX, Math.max(ROWS_PER_TURN_MIN, Math.floor(CELLS_PER_TURN / Math.max(columns, 1))));
}

/** `ORDER BY time LIMIT n` tracks the best rows while it reads; beyond this many the engine sorts all. */
export const TOP_ROWS_MAX = 10_000;

/**
 * Tables, views and table functions that a statement may name, each occurrence counted: planning thirty joins takes 0.2 s, a hundred most
 * of a minute.
 */
export const TABLE_REFERENCES_MAX = 32;

/** Values of a column, found in other tables, that may narrow a table: so many look-ups cost less than reading a large table. */
export const KEYS_MAX = 10_000;

/**
 * Relative cost of reading a table without a filter: a few rows of memory, a row for each invocation, or all that invocations did and
 * hold.
 */
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
    "sys_event_subscription",
    "sys_operation",
    "sys_condition",
    "sys_schedule",
    "sys_slot_wait",
    "sys_node",
    "sys_partition",
    "sys_traffic",
    "sys_keyed_service_status",
  ],
]);

/** SELECTs in a statement, those of subqueries and UNIONs counted: thousands take the planner a minute and gigabytes. */
export const QUERY_PARTS_MAX = 256;

/** Rows of a query that runs without the engine. They stay in the process until the result is read, and many results may be open. */
export const PLAIN_BYTES_MAX = 4 * 1024 * 1024;

/** A LIMIT of more digits is left to the engine. */
export const LIMIT_DIGITS_MAX = 9;

/** JSON text is passed on at this length: long enough to be worth a write. */
export const JSON_CHUNK_CHARS = 64 * 1024;

/** Encoded chunks of a result that are sent before the reader requests more; a chunk is some 64 KiB. */
export const CHUNKS_AHEAD = 4;

/** A result that is not read for this long is dropped, together with the engine's part of it. */
export const READ_STALL_MS = 60_000;

/** Encoded size of one result. A longer result is truncated there: clients that need more should request parts. */
export const RESULT_BYTES_MAX = 512 * 1024 * 1024;

/** Results that may be read while others run and wait: each holds rows in the engine. */
export const OPEN_RESULTS_MAX = 16;

/** Rows of the server's memory that are sent to a statement process at a time: well under a millisecond of the main thread. */
export const LIVE_PAGE_ROWS = 256;

/** Stored rows that are sent to a statement process at a time: their copy costs the main thread a fraction of a millisecond. */
export const STORE_PAGE_BYTES = 256 * 1024;
export const STORE_PAGE_ROWS = 2048;

/** Keys that the store reads in one step. Their values are in the server's memory together, and one value may have 32 MB. */
export const STORE_KEYS_AT_ONCE = 32;

/**
 * Completed invocations that a statement process keeps, and the columns made of them: 100,000 of them take some 20 MB, and 4 for each
 * column. With more of them none are kept.
 */
export const COMPLETED_BYTES_MAX = 64 * 1024 * 1024;

/** Completed invocations of which one page has columns: a statement is checked for its end between two pages. */
export const COMPLETED_PAGE_ROWS = 16_384;

/** A column of all completed invocations is made when a statement needs at least this part of its values. */
export const COMPLETED_COLUMN_SHARE = 1 / 16;

/** Changed rows that are read at a time: a frame that the server accepts, and some 50 KB of rows. */
export const COMPLETED_KEYS_AT_ONCE = 256;

/** JavaScript heap of a statement process; rows and results are outside of the heap and have their own bounds. */
export const PROCESS_HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Memory of Node and the decoded rows of some pages. */
export const PROCESS_HEAP_BYTES_MIN = 64 * 1024 * 1024;

/** Memory of a process before its first statement, and stored values in transit: measured 90 MB, and one value may have 32 MB. */
export const PROCESS_BASE_BYTES = 128 * 1024 * 1024;

/** Memory of the server itself when it shares a limit with its statement processes. */
export const SERVER_BYTES = 256 * 1024 * 1024;

/** Below this much memory for each of two processes only one is started. */
export const PROCESS_BYTES_MIN = 224 * 1024 * 1024;

/** Interval at which the memory of a process is read while it runs statements: it can take some 50 MB in between. */
export const MEMORY_CHECK_EVERY_MS = 50;

/**
 * Address space beyond its memory that a process may map (RLIMIT_DATA): Node and the engine reserve 600 MiB that they do
 * not use. An allocation beyond it fails at once, however fast it is.
 */
export const PROCESS_RESERVED_BYTES = 1024 * 1024 * 1024;

/**
 * Niceness of a statement process relative to the server (0 equal, 19 lowest priority). At 19 statements starve on a busy machine: a
 * count took 9 s.
 */
export const PROCESS_NICENESS = 10;

/** A statement that runs this long after its time limit is in a step that cannot be interrupted; its process is killed. */
export const INTERRUPT_GRACE_MS = 1000;

/**
 * A process without statements ends after this: a person who works with the command line keeps it, an idle server gets its memory back. The
 * first statement of a new process over 100,000 invocations takes 0.7 s, the next 0.05 s.
 */
export const PROCESS_IDLE_MS = 300_000;

/**
 * Processes of one slot that may end by themselves within `PROCESS_STARTS_WINDOW_MS`; a process that fails repeatedly must not use up the
 * machine's time.
 */
export const PROCESS_STARTS_MAX = 5;
export const PROCESS_STARTS_WINDOW_MS = 60_000;

/** Maximum pause before a killed process is replaced; the pause is a random part of it. */
export const RESTART_PAUSE_MS_MAX = 250;

/** Bytes that a process sends of a result at a time. */
export const CHUNK_BYTES_MAX = 256 * 1024;

/** Bytes of a process's last output that are kept for the log. */
export const STDERR_CHARS_MAX = 4096;

/**
 * Ranges of the store that are requested before their turn, small ones in one message: there are up to two for each partition, and a server
 * has 24 partitions unless it is configured otherwise. Only rows of invocations without their results are read ahead: of state, promises
 * and inboxes one row can have 32 MB, and so many at once would be in the memory of the server as well.
 */
export const RANGES_AHEAD = 24;
/**
 * Ranges of state, promises, locks and inboxes that are requested before they are scanned, if all of them fit into one page: a server has
 * 24 partitions unless it is configured otherwise, and a service two ranges in each.
 */
export const SCANS_AHEAD = 128;
/** Rows of a LIMIT above which most ranges are read anyway. */
export const LIMIT_AHEAD_MIN = 1000;

/** Time that closing waits until the thread has closed the store; then the thread is terminated. */
export const STORE_THREAD_CLOSE_MS = 3000;

/** Concurrent reads of the store for all statements: each takes one of the four threads that commits need as well. */
export const STORE_READS_AT_ONCE = 2;

/** Journals (and lists of events) that are requested before the first of them has arrived: most have a few hundred bytes. */
export const JOURNALS_AHEAD = 8;
/** A journal longer than this ends the prefetching, for there may be many of its size. */
export const JOURNAL_BYTES_AHEAD_MAX = 1024 * 1024;

/** Partitions whose state of flow control is read concurrently: each takes three reads, and commits need the same threads. */
export const FLOW_PARTITIONS_AHEAD = 4;
/** Queues and entries of one partition beyond which the next ones are read one by one. */
export const FLOW_ROWS_AHEAD_MAX = 1024;

/** Entries of a journal that are read together with its invocation, when a statement names one. */
export const ENTRIES_AHEAD = 16;

/** Invocations that are read by id at a time: one round trip to a store behind a network, of some hundred kilobytes. */
export const IDS_AT_ONCE = 256;
