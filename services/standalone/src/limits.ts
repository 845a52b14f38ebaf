/** Why: the bounds of this process, each with its reason. */

/** How much the thread of SQL statements stands back behind those that run invocations (0 not at all, 19 entirely). */
export const SQL_THREAD_NICENESS = 10;
