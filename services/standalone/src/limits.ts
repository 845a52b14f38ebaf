/** Why: the bounds of this process, each with its reason. */

/** Invocations whose first span is remembered, so that their further attempts do not record it again; a few megabytes. */
export const TRACED_INVOCATIONS_MAX = 20_000;

/** Time for running management requests when the process stops. */
export const ADMIN_DRAIN_MS = 2000;

/** How much the thread of SQL statements stands back behind those that run invocations (0 not at all, 19 entirely). */
export const SQL_THREAD_NICENESS = 10;
