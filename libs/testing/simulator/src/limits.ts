/** Bounds of a simulation, each with the reason for its value. */

/** Maximum number of steps until a world must come to rest. Usual worlds take a few thousand. */
export const STEPS_MAX = 150_000;

/**
 * Maximum virtual time until a world must come to rest after faults have stopped; longer than every sleep, delay and back-off together.
 */
export const CALM_MS_MAX = 12 * 3_600_000;

/** Virtual time without a commit after which every wait is examined: longer than any single timer of a program. */
export const QUIET_MS = 20 * 60_000;

/**
 * The same for clusters, whose workers poll each other all the time, so that quiet costs: longer than two timeouts of 60 s and a sleep.
 */
export const QUIET_MS_CLUSTER = 4 * 60_000;

/**
 * Maximum rounds of completing promises and signals in place of killed invocations; each frees at least one invocation, and worlds have
 * few.
 */
export const HELP_ROUNDS_MAX = 40;

/** Virtual time after the storm at which the scheduled invocations of a crowd start: all of them are stored by then. */
export const SCHEDULED_START_MS = 30_000;

/**
 * Virtual time that a handler may be blocked with its stream open while runs wait for its slot: the invoker needs up to a second to be
 * sure, half a second for each handler that does not answer, and the slowest endpoint some hundred milliseconds for each message.
 */
export const BLOCKED_WITH_SLOT_MS_MAX = 4_000;

/** Number of lines of trace that are kept: the last ones show the cause, and a world must not fill the memory. */
export const TRACE_LINES_MAX = 20_000;

/** Maximum number of operations of one program with all its callees: enough for conflicts, few enough for thousands of seeds. */
export const PROGRAM_OPERATIONS_MAX = 24;

/** Maximum depth of calls below a caller's program. */
export const PROGRAM_DEPTH_MAX = 3;
