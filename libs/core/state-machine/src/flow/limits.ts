/** Maximum number of paused queues of a partition; they are kept in memory, some 200 bytes each, and operators pause dozens at most. */
export const PAUSED_QUEUES_MAX = 10_000;
