/** Bounds of a Kafka client, each with its reason. */

/** Topic partitions of one subscription that are handled at the same time. */
export const PARTITIONS_AT_ONCE_MAX = 16;
/** Longest pause between heartbeats to the group while a batch is handled. */
export const HEARTBEAT_MS = 1_000;
/** Handled offsets are committed at least this often while a long batch continues (ingress.md §13.3). */
export const COMMIT_MS = 5_000;
/** Interval of requesting the end offsets of a topic: about the interval of scraping metrics. */
export const LAG_MS = 10_000;
/**
 * Session timeout of a member, unless `session.timeout.ms` sets another. librdkafka's default is 45 s; a record that is read twice costs
 * little here, because partitions recognise its offset, and a shorter timeout shortens the interruption for subscribers.
 */
export const SESSION_MS = 10_000;
/** Leaving a group must not hold up a shutdown. */
export const LEAVE_TIMEOUT_MS = 5_000;
/** Retries within kafkajs before a failure is reported; the subscription itself retries for longer. */
export const CLIENT_RETRIES_MAX = 2;
/** Fetch limits of librdkafka: per partition, per answer. */
export const FETCH_PARTITION_BYTES = 1_048_576;
export const FETCH_BYTES = 52_428_800;
/** Interval of TCP keep-alive, the default of kafkajs. */
export const KEEP_ALIVE_MS = 60_000;
/** Request of an access token: timeout from connecting to the last byte, and bounds of the token and of the response. */
export const TOKEN_TIMEOUT_MS = 10_000;
export const TOKEN_ANSWER_BYTES_MAX = 256 * 1024;
