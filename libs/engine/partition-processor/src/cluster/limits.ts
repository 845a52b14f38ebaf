/** Timing of leases: how soon a partition has a leader again after a crash. */

/** Interval at which a worker renews its leases and polls the members. A free partition is detected within this time. */
export const LEASE_POLL_MS = 250;
/** Pause between the end of a poll and the next, however long it took, so that a slow medium is not overloaded. */
export const LEASE_POLL_PAUSE_MS = 25;
/**
 * A poll comes earlier when the lease of another worker ends before: so much after its end, because the medium grants no lease earlier.
 * Of the 3 s within which a partition must work again after its leader's crash, 2 s are the lease; the rest is for acquiring it and
 * reading what runs.
 */
export const LEASE_POLL_AFTER_END_MS = 5;
/** Number of partitions handed over at the same time: the others continue meanwhile. */
export const HAND_OVERS_AT_ONCE = 4;
/** Number of free partitions acquired at the same time: they have no leader, and each reads only what it will run. */
export const TAKES_AT_ONCE = 32;
/**
 * How long attempts may continue when their partition is handed over. Most suspend or end within it, and need not be run again;
 * invocations that callers submit meanwhile wait for the next leader, and a draining worker moves `HAND_OVERS_AT_ONCE` partitions at a
 * time. Below the duration of a lease.
 */
export const YIELD_ATTEMPTS_MS = 1_000;
/** Time that an orderly hand-over waits for writes under way before it releases the lease all the same. */
export const HAND_OVER_MS_MAX = 5_000;
