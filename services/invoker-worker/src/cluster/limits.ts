/** Why: how soon a partition has a leader again. */

/** How long a silent worker counts as one that could lead: shorter than a lease, so that free partitions do not wait for the dead. */
export const MEMBER_MS = 1_500;
