/** Why: the bounds of this role, each with its reason. */

/** Partitions of a new environment, as many as the reference makes: a broken invariant stops one of them, and an idle one costs an object. */
export const PARTITION_COUNT_DEFAULT = 24;

/** More are of no use to one process, and each is claimed with a synced write at start. */
export const PARTITION_COUNT_SETTING_MAX = 1024;
