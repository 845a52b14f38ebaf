/** Bounds of how soon a partition has a leader again. */

/**
 * How long a silent worker counts as a candidate for leadership: shorter than a lease, so that free partitions do not wait for a worker
 * that has ended.
 */
export const MEMBER_MS = 1_500;
