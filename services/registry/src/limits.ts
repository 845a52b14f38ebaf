/** Bounds of this package, each with the reason for its value. */

/** Attempts of one discovery: the endpoint may be starting, but a user is waiting for the result. */
export const DISCOVERY_ATTEMPTS_MAX = 5;

/** Bounds of the random pauses between two attempts: 1.5 s of waiting on average, 3 s at most. */
export const DISCOVERY_RETRY_BOUNDS = { firstMs: 200, longestMs: 1_600 } as const;

/** Timeout of one attempt from connecting to the last byte, in milliseconds: a cold function of a cloud platform responds within this. */
export const DISCOVERY_TIMEOUT_MS = 30_000;

/** All attempts of one discovery together, in milliseconds: one slow attempt and the quick failures before it. */
export const DISCOVERY_TOTAL_MS = 45_000;

/** Characters of a refused response's body that an error quotes. */
export const QUOTED_BODY_CHARS_MAX = 2048;

/** Attempts to decide a change after conflicts with other processes; with each conflict another change was made. */
export const CONFLICTS_MAX = 50;

/** Bounds of the random pauses after conflicts: about the duration of some writes. */
export const CONFLICT_BOUNDS = { firstMs: 10, longestMs: 500 } as const;

/** Changes that may wait for their turn; the API bounds its requests well below this. */
export const WAITING_CHANGES_MAX = 4096;

/** Rules of flow control of one environment: all of them are matched for every invocation that names a scope. */
export const RULES_MAX = 1000;

/** Kafka clusters of one environment. */
export const KAFKA_CLUSTERS_MAX = 1000;

/** Subscriptions of one environment; each holds a consumer. */
export const SUBSCRIPTIONS_MAX = 10_000;

/** Event subscriptions of one environment: each is matched against every invocation that ends or is paused. */
export const EVENT_SUBSCRIPTIONS_MAX = 100;

/** Secrets of one webhook that sign at the same time: the present one and the one before it. */
export const WEBHOOK_SECRETS_MAX = 2;

/** Deployments of one environment, the drained ones included. */
export const DEPLOYMENTS_MAX = 50_000;

/** Listeners for changes; more indicate a leak of listeners. */
export const LISTENERS_MAX = 64;

/** Invocations that a check examines between two turns of the event loop: a millisecond or two. */
export const SCANNED_PER_TURN = 256;

/** Share of a check's time for selecting journals; the rest is for replays. */
export const CHECK_SCAN_SHARE = 0.5;

/** Handlers of which a check keeps invocations: as many as the largest manifests have, and those of old revisions. */
export const CHECKED_HANDLERS_MAX = 10_000;

/** Longer journals are not replayed for a check, and are reported as skipped. */
export const CHECKED_ENTRIES_MAX = 50_000;
/** The same in bytes, with the state that is sent along; some of these are in memory at once. */
export const CHECKED_JOURNAL_BYTES_MAX = 16 * 1024 * 1024;

/** Findings that are shown and stored with a deployment; equal ones count as one. */
export const FINDINGS_MAX = 50;
/** Characters of an endpoint's message about a mismatch; SDKs send some 400. */
export const FINDING_MESSAGE_CHARS_MAX = 2_000;
/** Characters of a stack trace: the frames of user code come first. */
export const FINDING_STACK_CHARS_MAX = 4_000;

/** Metadata key of a handler or service that excludes it from checks. */
export const CHECK_METADATA_KEY = "perdure.replay-check";
export const CHECK_METADATA_OFF = "off";

/** Positions of skipped records that are stored with a subscription: an operator skips a few; to skip more, another offset is better. */
export const SKIPPED_RECORDS_MAX = 100;

/** Discoveries of one environment where any tenant registers: enough for a user and a pipeline, too slow for a scan (cloud.md §6.6.6). */
export const DISCOVERIES_PER_WINDOW_MAX = 10;
export const DISCOVERY_WINDOW_MS = 60_000;
export const DISCOVERIES_AT_ONCE_MAX = 3;
/** Characters of an untrusted endpoint's response that are quoted there (cloud.md §6.6.5). */
export const GUARDED_QUOTE_CHARS_MAX = 256;
