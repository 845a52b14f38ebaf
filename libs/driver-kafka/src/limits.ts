/** Bounds of a Kafka client, and why. */

/** Topic partitions of one subscription that are handled at the same time. */
export const PARTITIONS_AT_ONCE_MAX = 16;
/** While a batch is being handled the group is told that we live, this often at least. */
export const HEARTBEAT_MS = 1_000;
/** Handled offsets are committed at least this often while a long batch goes on (ingress.md §13.3). */
export const COMMIT_MS = 5_000;
/** Leaving a group must not hold up a shutdown. */
export const LEAVE_TIMEOUT_MS = 5_000;
/** Retries within the client before a failure is reported; the subscription has its own, longer patience. */
export const CLIENT_RETRIES_MAX = 2;
/** Fetch limits of librdkafka: per partition, per answer. */
export const FETCH_PARTITION_BYTES = 1_048_576;
export const FETCH_BYTES = 52_428_800;
