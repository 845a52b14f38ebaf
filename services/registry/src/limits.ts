/** Why: every bound of this package in one place, each with the reason for its value. */

/** Attempts of one discovery: the endpoint may be starting, but a person is waiting for the answer. */
export const DISCOVERY_ATTEMPTS_MAX = 5;

/** Bounds of the random pauses between two attempts: 1.5 s of waiting on average, 3 s at most. */
export const DISCOVERY_RETRY_BOUNDS = { firstMs: 200, longestMs: 1_600 } as const;

/** One attempt from connecting to the last byte, in milliseconds: a cold function of a cloud platform answers within this. */
export const DISCOVERY_TIMEOUT_MS = 30_000;

/** All attempts of one discovery together, in milliseconds: one slow attempt and the quick failures before it. */
export const DISCOVERY_TOTAL_MS = 45_000;

/** How much of a refused answer's body an error quotes. */
export const QUOTED_BODY_CHARS_MAX = 2048;

/** How often a change is decided anew because another process changed something meanwhile; each time somebody else got on. */
export const CONFLICTS_MAX = 50;

/** Bounds of the random pauses after conflicts: about what some writes take. */
export const CONFLICT_BOUNDS = { firstMs: 10, longestMs: 500 } as const;

/** Changes that may wait for their turn; the door in front bounds its requests well below this. */
export const WAITING_CHANGES_MAX = 4096;

/** Rules of flow control of one environment: all of them are matched for every invocation that names a scope. */
export const RULES_MAX = 1000;

/** Kafka clusters of one environment. */
export const KAFKA_CLUSTERS_MAX = 1000;

/** Subscriptions of one environment; each holds a consumer. */
export const SUBSCRIPTIONS_MAX = 10_000;

/** Deployments of one environment, the drained ones included. */
export const DEPLOYMENTS_MAX = 50_000;

/** Listeners for changes; more means that somebody forgets to stop listening. */
export const LISTENERS_MAX = 64;

/** Invocations looked at between two turns of the event loop while a check looks for journals: a millisecond or two. */
export const SCANNED_PER_TURN = 256;

/** Share of a check's time that may go into looking; the rest is for asking. */
export const CHECK_SCAN_SHARE = 0.5;

/** Handlers of which a check keeps invocations: as many as the largest manifests have, and those of old revisions. */
export const CHECKED_HANDLERS_MAX = 10_000;

/** Longer journals are not replayed for a check, and said to be skipped. */
export const CHECKED_ENTRIES_MAX = 50_000;
/** The same in bytes, with the state that goes along; some of these are in memory at once. */
export const CHECKED_JOURNAL_BYTES_MAX = 16 * 1024 * 1024;

/** Findings that are shown and kept with a deployment; alike ones count as one. */
export const FINDINGS_MAX = 50;
/** Characters of what an endpoint says about a mismatch; SDKs take some 400. */
export const FINDING_MESSAGE_CHARS_MAX = 2_000;
/** Characters of a stack trace: the frames of user code come first. */
export const FINDING_STACK_CHARS_MAX = 4_000;

/** Metadata of a handler or service that keeps checks away from it. */
export const CHECK_METADATA_KEY = "perdure.replay-check";
export const CHECK_METADATA_OFF = "off";

/** Places of left-out records kept with a subscription: a person skips a few, and whoever skips more wants another offset. */
export const SKIPPED_RECORDS_MAX = 100;

/** Discoveries of one environment where strangers register: enough for a person and a pipeline, too slow for a scan (cloud.md §6.6.6). */
export const DISCOVERIES_PER_WINDOW_MAX = 10;
export const DISCOVERY_WINDOW_MS = 60_000;
export const DISCOVERIES_AT_ONCE_MAX = 3;
/** Characters of a stranger's answer that are quoted there (cloud.md §6.6.5). */
export const GUARDED_QUOTE_CHARS_MAX = 256;
