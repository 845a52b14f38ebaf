/** Bounds of this package, each with the reason for its value. */

/** Requests answered at once. Operators and tools need a handful; more come from a client in a loop. Over it: 429. */
export const REQUESTS_MAX = 1024;

/** Largest request body: thousand ids, thousand rules or a very long statement fit several times over. */
export const REQUEST_BODY_BYTES_MAX = 1024 * 1024;
/** Time for a body to arrive, as long as the listener allows a whole request of HTTP/1.1. */
export const REQUEST_BODY_MS = 300_000;

/** Largest body of a state edit, byte values written as decimals: some 8 MiB of state. */
export const STATE_BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Bodies held in memory by all requests together; over it a request is refused with 429. */
export const ALL_BODIES_BYTES_MAX = 256 * 1024 * 1024;

/** Invocations one batch operation may name, as in the interface that the web UI expects. */
export const BATCH_INVOCATIONS_MAX = 1000;

/** Timeout of the query for the stored bytes of Redis; the timeout of the client is little longer. */
export const USAGE_MS = 2_000;
/** Time for which the size of an archive is cached: it costs a scan of every row, and billing requests it every few seconds. */
export const ARCHIVE_SIZE_KEPT_MS = 600_000;

/** Operations of one batch in progress at the same time. */
export const BATCH_CONCURRENCY_MAX = 64;

/** Answers below this many bytes are sent as they are: compressing them makes them larger. */
export const COMPRESSED_BYTES_MIN = 32;

/** Longest journal that is read to explain an invocation; of a longer one only the beginning is read. Decoding takes some 2 µs an entry. */
export const EXPLAINED_ENTRIES_MAX = 20_000;

/** Longest journal whose results a fork may edit: it is read and decoded as a whole. */
export const FORKED_ENTRIES_MAX = 20_000;

/** Forks that run in sandboxes at the same time: each holds up to some 100 MB of journals. */
export const SANDBOXES_MAX = 8;
/** Time for a fork in a sandbox whose request names none. */
export const SANDBOX_MS_DEFAULT = 30_000;

/** Largest body of a fork: edited results of several MiB. */
export const FORK_BODY_BYTES_MAX = 16 * 1024 * 1024;

/** Positions of an object's queue that are counted to show the position of an invocation: one point read each. */
export const QUEUE_PLACES_COUNTED_MAX = 1000;

/** Ids between two writes of a batch's progress; after a crash at most this many are checked again. */
export const BATCH_PAGE_IDS = 250;

/** Operations of one background batch in progress at the same time: requests of clients have priority. */
export const BATCH_WORKERS_MAX = 16;

/** Batches in progress at the same time; over it: 429. */
export const BATCHES_RUNNING_MAX = 8;

/** Batches that are stored, running ones included, and … */
export const BATCHES_KEPT_MAX = 200;
/** … invocations of all of them together: some 100 MB of results at the very most. */
export const BATCH_RESULTS_KEPT_MAX = 1_000_000;
/** Time for which the results of a finished batch are available. */
export const BATCH_KEPT_MS = 24 * 3_600_000;

/** Interval of the deletion of finished batches that are too old. */
export const BATCH_CLEANUP_MS = 10 * 60_000;

/** Invocations that a dry run shows. */
export const BATCH_SAMPLE_MAX = 20;

/** Attempts of one operation while its partition is not available, and … */
export const BATCH_TRIES_MAX = 6;
/** … the bounds of the random pauses between them. Together some six seconds on average: a change of leaders. */
export const BATCH_RETRY_BOUNDS = { firstMs: 400, longestMs: 6_400 } as const;
/** Bounds of the random pause after which a batch that stopped on an error continues. */
export const BATCH_AGAIN_BOUNDS = { firstMs: 5_000, longestMs: 5_000 } as const;
/** Interval of the checks whether a batch that another process runs has ended after its cancellation. */
export const BATCH_POLL_MS = 50;
export const BATCH_CANCEL_WAIT_MS = 15_000;

/** Length of a page when a cursor comes without a limit. */
export const PAGE_ITEMS_DEFAULT = 100;

/** Time for running management requests when the process stops. */
export const ADMIN_DRAIN_MS = 2000;

/** Bytes of journal and state in a bundle: its JSON is some three times as long, and is in memory as a whole. */
export const BUNDLE_BYTES_MAX = 32 * 1024 * 1024;
/** Bundles made at the same time; over it: 429. Two have some 300 MB in memory when they are as large as they may be. */
export const BUNDLES_MAX = 2;
/** `Retry-After` of that answer: a large bundle takes some seconds. */
export const BUNDLE_RETRY_SECONDS = 2;
/** Names of fields in the query of one bundle. */
export const BUNDLE_NAMES_MAX = 200;
/** Stored operations. Beyond them, those whose time is over and those that are undone are deleted before others. Some 300 bytes each. */
export const OPERATIONS_KEPT_MAX = 2_000;
/** Copies of deleted metadata, such as deployments; beyond them the oldest are dropped. They are read with the operations. */
export const DELETED_COPIES_BYTES_MAX = 16 * 1024 * 1024;
/** Longest time between two checks for copies that are over: those of a management API that ended are found then. */
export const DELETED_COPIES_CHECK_MS = 3_600_000;
/** Time before copies are checked again when their store was away. */
export const DELETED_COPIES_RETRY_MS = 60_000;
/** Characters of the name of what an operation changed. */
export const OPERATION_SUBJECT_CHARS_MAX = 200;
/** Sentences about what an undo could not revert; the results of the batch have all. */
export const OPERATION_NOTES_MAX = 20;
