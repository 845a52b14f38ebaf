/** Bounds of this package, each with the reason for its value. */

/** Largest number of partitions one environment may have; keeps `partitionOf` exact in double arithmetic (52 bits of product). */
export const PARTITION_COUNT_MAX = 1 << 20;

/**
 * Buckets that are drawn for an id whose partition should be one of some: with a quarter of the partitions preferred one id in 100 million
 * is of another, with a sixteenth one in 62. The id is valid all the same.
 */
export const PREFERRED_DRAWS_MAX = 64;

/** Services whose 512 bucket hashes are cached; for a larger registry hashes are computed again, with the same result. */
export const BUCKET_CACHE_SERVICES_MAX = 1024;

/** Bytes fetched from the system's generator at once; one system call then serves some 400 fresh ids. */
export const RANDOM_POOL_BYTES = 4096;

/** Bytes a writer starts with: most messages we write are smaller than this. */
export const WRITER_INITIAL_BYTES = 1024;

/** A writer that grew beyond this for one large message releases the memory on `reset()`. */
export const WRITER_KEPT_BYTES_MAX = 1 << 20;

/** Values from this size are copied once, when the message is finished, or not at all: the buffer does not grow for them, nor move them again. */
export const WRITER_REFERRED_BYTES_MIN = 32 * 1024;

/** Deepest nesting of submessages in one writer: far above any of our schemas (futures nest the deepest, and are cut at 64). */
export const WRITER_DEPTH_MAX = 128;

/** Memory shared by small arrays; as large as Node's own pool, so that one kept item never pins much. */
export const SLAB_BYTES = 8192;

/** Arrays from this size are not filled with zeros first. */
export const UNFILLED_BYTES_MIN = 32 * 1024;

/** Larger arrays get memory of their own: a slab should serve several. */
export const SLAB_ITEM_BYTES_MAX = 1024;

/** Texts whose UTF-8 surely fits are encoded here first, to get their size; longer ones (they are rare) take a slower path. */
export const TEXT_SCRATCH_BYTES = 16_384;

/** Longest delay that `setTimeout` accepts; longer ones fire at once, so the clock waits in steps of this (2³¹−1 ms, about 24.8 days). */
export const TIMER_STEP_MS_MAX = 2_147_483_647;

/** Longest duration read from text, 10,000 years: any moment of ours plus a duration is still a valid date. */
export const DURATION_MS_MAX = 315_576_000_000_000;

/** Longest text that is parsed as a duration or byte size: every sensible one fits, and a megabyte of input is refused at once. */
export const QUANTITY_TEXT_CHARS_MAX = 256;

/** Keys are rarely longer than this in UTF-8; longer ones are hashed in memory of their own. */
export const HASH_SCRATCH_BYTES = 4096;

/** Bytes of a scope and of each level of a limit key (ingress.md §6). */
export const SCOPE_BYTES_MAX = 36;

/** Lines of one kind that are logged in full within a period: enough to find the mistake. */
export const SUMMARY_LINES_IN_FULL = 20;
/** Interval of summaries of the lines that were only counted: within the minute in which an operator notices. */
export const SUMMARY_PERIOD_MS = 60_000;
/** Kinds of lines with a counter of their own, some hundred bytes each; further kinds share one counter. */
export const SUMMARY_KINDS_MAX = 256;
/** Summary lines of a period, for the most frequent kinds; one more line has the sum of the others. */
export const SUMMARY_LINES_MAX = 20;

/** Doublings of a pause that are counted: 2³⁰ times any first pause is beyond every bound, and stays an exact number. */
export const BACKOFF_DOUBLINGS_MAX = 30;

/** `Retry-After` of a bucket that never fills: an hour, after which an operator may have changed the limit. */
export const RETRY_AFTER_SECONDS_MAX = 3_600;

/** A bucket has a token when this little of it is missing: sums of fractions are off by some 10⁻¹⁵, and a timer for such a rest would never end. */
export const TOKEN_TOLERANCE = 1e-9;

/** Interval of new loads of a cached value while they fail: the process may be back soon, and is not flooded until then. */
export const LOAD_RETRY_MS = 1_000;
