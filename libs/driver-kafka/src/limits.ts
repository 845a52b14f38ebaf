/** Bounds of a Kafka client, and why. */

/** Topic partitions of one subscription that are handled at the same time. */
export const PARTITIONS_AT_ONCE_MAX = 16;
/** While a batch is being handled the group is told that we live, this often at least. */
export const HEARTBEAT_MS = 1_000;
/** Handled offsets are committed at least this often while a long batch goes on (ingress.md §13.3). */
export const COMMIT_MS = 5_000;
/** How often a broker is asked where the partitions of a topic end: as often as somebody looks at metrics. */
export const LAG_MS = 10_000;
/**
 * A reader that is silent for so long is dead for its group, unless `session.timeout.ms` says otherwise. librdkafka waits 45 s; a record
 * that is read once more costs us little, because its offset is known, and waiting is what subscribers feel.
 */
export const SESSION_MS = 10_000;
/** Leaving a group must not hold up a shutdown. */
export const LEAVE_TIMEOUT_MS = 5_000;
/** Retries within the client before a failure is reported; the subscription has its own, longer patience. */
export const CLIENT_RETRIES_MAX = 2;
/** Fetch limits of librdkafka: per partition, per answer. */
export const FETCH_PARTITION_BYTES = 1_048_576;
export const FETCH_BYTES = 52_428_800;
/** Idle connections are probed after so long, as the client does it itself. */
export const KEEP_ALIVE_MS = 60_000;
/** Asking for an access token: from connecting to the last byte, and how long a token and what surrounds it may be. */
export const TOKEN_TIMEOUT_MS = 10_000;
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1024;
