/** Bounds of this role, each with its reason. */

/**
 * Partitions of a new environment, as many as the reference makes: a broken invariant stops one of them, and an idle one costs an object.
 */
export const PARTITION_COUNT_DEFAULT = 24;

/** Maximum of the setting: more partitions are of no use to one process, and each is claimed with a synced write at start. */
export const PARTITION_COUNT_SETTING_MAX = 1024;

/** Topic partitions whose lag is shown one by one; the sum covers all of them. */
export const LAG_SERIES_MAX = 500;
/** Resolution of the start times of running invocations: five minutes do not matter after an hour. */
export const RUNNING_AGE_STEP_MS = 300_000;
/** Weight of the last attempt in the mean duration of attempts: some dozens of them make the estimate of waiting work. */
export const ATTEMPT_MEAN_WEIGHT = 0.05;

/** Interval at which activity is recorded: environments hibernate after minutes, so seconds do not matter. */
export const ACTIVITY_POLL_MS = 5_000;

/** Changes of the record of a data set by other processes that one agreement follows: each starting worker makes two at most. */
export const AGREEMENT_STEPS_MAX = 64;
/** Interval of reads of the record without a mismatch: it changes only when an operator accepts a loss or the database is another one. */
export const RECORD_CHECK_MS = 60_000;
/** Interval of reads during a mismatch: how long an operator waits after restoring the data or accepting their loss. */
export const MISMATCH_CHECK_MS = 2_000;
/** Interval at which a lasting mismatch is logged again. */
export const MISMATCH_LOG_MS = 60_000;
