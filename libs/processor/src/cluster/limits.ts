/** Why: how soon a partition has a leader again, and what keeps the peace meanwhile. */

/** How often a worker renews its leases and looks who is there. A free partition is found within this. */
export const LEASE_POLL_MS = 250;
/** Between the end of a look and the next, however long it took: a medium that is slow gets some rest. */
export const LEASE_POLL_PAUSE_MS = 25;
/**
 * A look comes earlier when somebody's lease ends before: so much after its end, because the medium lets nobody in before. Of the 3 s in
 * which a partition must work again after its leader's death, 2 s are the lease; the rest is for taking it and reading what runs.
 */
export const LEASE_POLL_AFTER_END_MS = 5;
/** Partitions given away at the same time: those that stay go on meanwhile. */
export const HAND_OVERS_AT_ONCE = 4;
/** Free partitions taken at the same time: nobody works for them, and each reads only what it will run. */
export const TAKES_AT_ONCE = 32;
/**
 * How long attempts may go on when their partition is handed over. Most suspend or end within it, and need not be run again; what callers begin
 * meanwhile waits for the next leader, and a worker that leaves moves `HAND_OVERS_AT_ONCE` partitions at a time. Below what a lease lasts.
 */
export const YIELD_ATTEMPTS_MS = 1_000;
/** How long an orderly hand-over waits for what is being written before the lease is given back all the same. */
export const HAND_OVER_MS_MAX = 5_000;
