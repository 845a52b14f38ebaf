/** Why: how soon a partition has a leader again, and what keeps the peace meanwhile. */

/** How often a worker renews its leases and looks who is there. A free partition is found within this. */
export const LOOK_MS = 250;
/** How long a silent worker counts as one that could lead: shorter than a lease, so that free partitions do not wait for the dead. */
export const MEMBER_MS = 1_500;
/** Partitions given away at the same time: those that stay go on meanwhile. */
export const HAND_OVERS_AT_ONCE = 4;
/** Free partitions taken at the same time: nobody works for them, and each reads only what it will run. */
export const TAKES_AT_ONCE = 32;
/** How long an orderly hand-over waits for what is being written before the lease is given back all the same. */
export const HAND_OVER_MS_MAX = 5_000;
