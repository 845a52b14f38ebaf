/** Paused queues that a partition remembers; they are kept in memory, some 200 bytes each, and people pause by the dozen. */
export const PAUSED_QUEUES_MAX = 10_000;
