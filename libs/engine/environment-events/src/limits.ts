/** Bounds of events about the environment, each with its reason. */

/** Maximum number of conditions that hold at once; beyond it no further event is raised until one is over. */
export const CONDITIONS_MAX = 1_000;
/**
 * Longest time without a check, beside the interval of checks, after which the next process continues to measure: as long as a new leader
 * or a restarted server usually takes. After a longer time it is unknown whether the condition held meanwhile.
 */
export const MEASURED_GAP_MAX_MS = 60_000;
/** Maximum number of conditions of a kind whose measured time is stored, oldest first: it is written after each check. */
export const MEASURED_MAX = 1_000;
/** A condition is over when this many checks in a row do not find it: one check may meet a moment between two invocations. */
export const CHECKS_WITHOUT_MAX = 2;
/** A deployment is drained when this many checks in a row find no invocation: one may start while a new revision becomes available. */
export const EMPTY_CHECKS_MIN = 2;
/** Deployments that are counted in one check, because each count reads all unfinished invocations. */
export const DEPLOYMENTS_COUNTED_MAX = 4;
/** A count is followed by a pause of this many times its own duration, so that counting takes a small part of a processor. */
export const COUNT_PAUSE_FACTOR = 20;
/** Time in which a partition accepts a delivery; the next check submits it again. */
export const SUBMIT_TIMEOUT_MS = 10_000;
/** Maximum number of topic partitions that an event names. */
export const TOPIC_PARTITIONS_NAMED_MAX = 20;
