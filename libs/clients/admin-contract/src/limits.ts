/** Bounds that requests have to keep, each with the reason for its value. */

/** Longest page of a list: some megabytes of JSON for services with schemas. */
export const PAGE_ITEMS_MAX = 1000;

/** Invocations of one batch, the oldest first; for more, start another batch afterwards. */
export const BATCH_MATCHED_MAX = 100_000;

/** Ids in the list of one batch: several times less than fits into a request body. */
export const BATCH_NAMED_IDS_MAX = 10_000;

/** Characters of a text that the client attaches to a batch: who started it, and why. */
export const BATCH_NOTE_CHARS_MAX = 500;

/** Changes of one request to the rules of flow control. */
export const RULE_CHANGES_MAX = 1000;

/** Highest concurrency a rule may name (an unsigned 32-bit number on the wire). */
export const RULE_CONCURRENCY_MAX = 4_294_967_295;

/** Most starts that a rate may allow in its period, and at once: beyond a million a limit has no effect. */
export const RULE_RATE_MAX = 1_000_000;

/** Longest period of a rate: a quota of a month. */
export const RULE_PERIOD_MS_MAX = 31 * 86_400_000;

/** Heaviest weight: a thousand times the share of the others is all of it. */
export const RULE_WEIGHT_MAX = 1000;

/** Longest name in the filter or target of an event subscription; filters are matched for every invocation. */
export const EVENT_FILTER_CHARS_MAX = 512;

/** Longest description of an event subscription: a few sentences. */
export const EVENT_DESCRIPTION_CHARS_MAX = 1024;

/** Longest address of a webhook: what servers and proxies accept. */
export const WEBHOOK_URL_CHARS_MAX = 2048;

/** Longest name of a Kafka cluster; it is part of a key of the metadata store, whose keys have at most 1,024. */
export const KAFKA_CLUSTER_NAME_CHARS_MAX = 512;

/** Most fire times of one response: weeks of a schedule that fires every half hour. */
export const NEXT_TIMES_MAX = 1000;
/** Fire times of a response when the request names no number. */
export const NEXT_TIMES_DEFAULT = 10;

/** Edited steps of one fork: they are written by hand. */
export const FORK_EDITS_MAX = 100;

/** Characters in the message of a failure that a fork puts in place of a result. */
export const FORK_FAILURE_CHARS_MAX = 10_000;

/** Stubs of a fork in a sandbox: one for each handler that it calls. */
export const SANDBOX_STUBS_MAX = 100;

/** Longest run of a fork in a sandbox: its client waits for it in one request. */
export const SANDBOX_MS_MAX = 300_000;
