/** Why: the bounds of this role, each with its reason. */

/** Partitions of a new environment, as many as the reference makes: a broken invariant stops one of them, and an idle one costs an object. */
export const PARTITION_COUNT_DEFAULT = 24;

/** More are of no use to one process, and each is claimed with a synced write at start. */
export const PARTITION_COUNT_SETTING_MAX = 1024;

/** Topic partitions whose lag is shown one by one; the sum has all of them. */
export const LAG_SERIES_MAX = 500;
/** Beginnings of what runs are told apart by as much: five minutes do not matter after an hour. */
export const RUNNING_AGE_STEP_MS = 300_000;
/** How much the last attempt counts in the mean duration of attempts: some dozens of them make the estimate of waiting work. */
export const ATTEMPT_MEAN_WEIGHT = 0.05;

/** How often it is noted whether anything happened: environments sleep after minutes, so seconds do not matter. */
export const ACTIVITY_LOOK_MS = 5_000;
