/** Bounds of consuming topics, each with its reason. */

/** Records of one topic partition that may be under way to partitions: enough to fill commits, little to hold in memory. */
export const RECORDS_UNDER_WAY_MAX = 1_000;
/** Maximum bytes of their payloads together. */
export const BYTES_UNDER_WAY_MAX = 32 * 1024 * 1024;
/** Bounds of the random pauses after which a consumer that failed is started again (ingress.md §13.4). */
export const RESTART_BOUNDS = { firstMs: 200, longestMs: 10_000 } as const;
/** Time without a failure after which the pause starts from the beginning. */
export const HEALTHY_MS = 30_000;
/** A record that its partition could not accept is offered again after this time, without limit. */
export const OFFER_AGAIN_MS = 200;
/** Maximum number of characters of an error that is shown to users. */
export const REASON_CHARS_MAX = 2_000;
