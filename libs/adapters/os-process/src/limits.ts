/** Bounds of runtimes on one machine, each with its reason. */

/** A runtime that does not answer within this is ended and counts as crashed: long journals are read before it answers. */
export const START_MS_MAX = 60_000;
/** Interval of health checks of a runtime that starts. */
export const HEALTH_EVERY_MS = 100;
/** One question; a process that computes for this long is not ready. */
export const HEALTH_TIMEOUT_MS = 2_000;
/** Time from the request to end until the runtime is killed: its listeners drain in less. */
export const STOP_MS_MAX = 20_000;
/** Interval of checks whether a process that is not our child still runs. */
export const WATCH_EVERY_MS = 250;
/** Bounds of the random pauses between ends and new starts. */
export const RESTART_FIRST_MS = 400;
export const RESTART_LONGEST_MS = 20_000;
/** Ends in a row after which it is of no use. */
export const CRASHES_MAX = 5;
/** A runtime that has answered for this long has recovered: earlier ends do not count any more. */
export const STABLE_MS = 60_000;
/** A log that is larger than this at a check is cut off: the log of one runtime may not fill the disk. */
export const LOG_BYTES_MAX = 8 * 1024 * 1024;
/** Longest line that a reader gets; a stack trace is shorter. */
export const LOG_LINE_CHARS_MAX = 8 * 1024;
/** Bytes that are read of each of the two files: the latest lines of a busy hour. */
export const LOG_READ_BYTES_MAX = 4 * 1024 * 1024;
/** Interval of checks of the size of logs. */
export const LOG_CHECK_EVERY_MS = 10_000;
/** Share of an environment's memory that JavaScript may use; the rest is for the engine, its caches and SQL. */
export const HEAP_SHARE = 0.6;
export const HEAP_MIB_MIN = 64;
/** Share of an environment's memory that SQL may use, and its upper bound (cloud.md §5.3). */
export const SQL_SHARE = 0.2;
export const SQL_BYTES_MAX = 256 * 1024 * 1024;
/** Bound of one statement (cloud.md §5.3). */
export const SQL_TIMEOUT_MS = 30_000;
/** Files and sockets of one runtime. */
export const OPEN_FILES_MAX = 4_096;
/** Length of the secret between gateway and runtime: 238 bits. */
export const SECRET_CHARS = 40;
/** Interval of health checks of a ready runtime: for a thousand runtimes that is a hundred requests per second. */
export const PROBE_EVERY_MS = 10_000;
/** A runtime that answers nothing for this long hangs: no turn of its event loop takes so long, and it serves no other client meanwhile. */
export const HUNG_AFTER_MS = 30_000;
/** Interval of checks of a runtime's memory; in this time it allocates less than a machine has to spare. */
export const MEMORY_CHECK_EVERY_MS = 2_000;
/** Checks in a row above its memory after which the runtime is ended: one check may come just before garbage is collected. */
export const MEMORY_CHECKS_MAX = 3;
/** Above this part of its memory the runtime is killed without a request to end. */
export const MEMORY_SHARE_AT_ONCE = 1.5;
/** Factor of the kernel's memory bound over our own: our check comes first and records the reason. Only with control groups. */
export const CGROUP_MEMORY_SLACK = 1.25;
/** Memory for the processes of SQL statements, which adapt to what is available. */
export const CGROUP_SQL_MIB = 512;
/** Processes and threads of one runtime and of its SQL statements: each Node has some twenty. */
export const CGROUP_TASKS_MAX = 128;
/** Niceness of runtimes relative to the platform's processes, where there are no control groups (0 none, 19 lowest priority). */
export const NICENESS = 5;
