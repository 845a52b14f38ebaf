/** Why: every bound of this package in one place, each with the reason for its value. */

/** Requests answered at once. People and tools need a handful; the rest is somebody's loop. Over it: 429. */
export const REQUESTS_MAX = 1024;

/** Largest request body: thousand ids, thousand rules or a very long statement fit several times over. */
export const REQUEST_BODY_BYTES_MAX = 1024 * 1024;

/** Largest body of a state edit, byte values written as decimals: some 8 MiB of state. */
export const STATE_BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Bodies held in memory by all requests together; over it a request is turned away with 429. */
export const ALL_BODIES_BYTES_MAX = 256 * 1024 * 1024;

/** Invocations one batch operation may name, as in the interface that the web UI expects. */
export const BATCH_INVOCATIONS_MAX = 1000;

/** How long Redis may take to say how much it stores; who asks has little more patience. */
export const USAGE_MS = 2_000;
/** How long the size of an archive is believed: it costs a look at every row, and who bills asks every few seconds. */
export const ARCHIVE_SIZE_KEPT_MS = 600_000;

/** Operations of one batch that are under way at the same time. */
export const BATCH_CONCURRENCY_MAX = 64;

/** Answers below this many bytes are sent as they are: compressing them makes them larger. */
export const COMPRESSED_BYTES_MIN = 32;

/** Changes of one request to the rules of flow control. */
export const RULE_CHANGES_MAX = 1000;

/** Highest concurrency a rule may name (an unsigned 32-bit number on the wire). */
export const RULE_CONCURRENCY_MAX = 4_294_967_295;

/** Most starts a rate may allow in its period, and at once: beyond a million there is nothing left to limit. */
export const RULE_RATE_MAX = 1_000_000;

/** Longest period of a rate: a quota of a month. */
export const RULE_PERIOD_MS_MAX = 31 * 86_400_000;

/** Heaviest weight: a thousand times the share of the others is all of it. */
export const RULE_WEIGHT_MAX = 1000;

/** Longest journal that is read to explain an invocation; of a longer one only the beginning is. Decoding takes some 2 µs an entry. */
export const EXPLAINED_ENTRIES_MAX = 20_000;

/** Places of an object's queue that are counted to say where somebody stands: one point read each. */
export const QUEUE_PLACES_COUNTED_MAX = 1000;

/** Invocations one batch acts on, the oldest first; whoever has more starts another batch afterwards. */
export const BATCH_MATCHED_MAX = 100_000;

/** Ids a batch may be given by name: what fits into a request body several times over. */
export const BATCH_NAMED_IDS_MAX = 10_000;

/** Ids that are done between two notes of how far a batch has come; after a crash no more than these are looked at twice. */
export const BATCH_PAGE_IDS = 250;

/** Operations of one batch in the background that are under way at the same time: callers come first. */
export const BATCH_WORKERS_MAX = 16;

/** Batches under way at the same time; over it: 429. */
export const BATCHES_RUNNING_MAX = 8;

/** Batches that are remembered, running ones included, and … */
export const BATCHES_KEPT_MAX = 200;
/** … invocations of all of them together: some 100 MB of results at the very most. */
export const BATCH_RESULTS_KEPT_MAX = 1_000_000;
/** How long the results of a finished batch can be asked for. */
export const BATCH_KEPT_MS = 24 * 3_600_000;

/** How often finished batches are looked through for those that nobody needs any more. */
export const BATCH_CLEANUP_MS = 10 * 60_000;

/** Invocations that a dry run shows. */
export const BATCH_SAMPLE_MAX = 20;

/** Tries of one operation while its partition is not available, and … */
export const BATCH_TRIES_MAX = 6;
/** … the bounds of the random pauses between them. Together some six seconds on average: a change of leaders. */
export const BATCH_RETRY_BOUNDS = { firstMs: 400, longestMs: 6_400 } as const;
/** Bounds of the random pause after which a batch that stopped on an error is taken up again. */
export const BATCH_AGAIN_BOUNDS = { firstMs: 5_000, longestMs: 5_000 } as const;
/** Who cancels a batch that another process runs looks so often whether it is over, and so long. */
export const BATCH_POLL_MS = 50;
export const BATCH_CANCEL_WAIT_MS = 15_000;

/** Characters of somebody's words that are kept with a batch: who, why. */
export const BATCH_NOTE_CHARS_MAX = 500;

/** Longest page of a list: some megabytes of JSON for services with schemas. */
export const PAGE_ITEMS_MAX = 1000;

/** Length of a page when a cursor comes without a limit. */
export const PAGE_ITEMS_DEFAULT = 100;

/** Time for running management requests when the process stops. */
export const ADMIN_DRAIN_MS = 2000;

/** Longest name of a Kafka cluster; it is part of a key of the metadata store, which bounds these at 1,024. */
export const KAFKA_CLUSTER_NAME_CHARS_MAX = 512;
