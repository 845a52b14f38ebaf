/** Bounds of running several programs on one machine, each with the reason for its value. */

/** A program that does not answer by then will not: starting takes two seconds, more on a small, busy machine. */
export const READY_MS_MAX = 120_000;
/** Pause between two checks of a process: short enough to go unnoticed. */
export const POLL_MS = 50;
/** Between SIGTERM and SIGKILL: roles drain for five seconds at most, servers write what they hold. */
export const STOP_MS_MAX = 15_000;
/** A command that stops a group waits so long for the supervisor to stop everything in order, before it stops the processes itself. */
export const ORDERLY_MS_MAX = 40_000;
/** Interval of checks whether a process has ended by itself. */
export const WATCH_MS = 500;
/** Programs that end by themselves are started again that often in all; then something is wrong that no new start mends. */
export const RESTARTS_MAX = 50;
/** Lines of a log that are shown when its program did not come up. */
export const LAST_LINES = 30;
/** A log file larger than this is renamed at the next start; the one renamed before is deleted. */
export const LOG_BYTES_MAX = 16 * 1024 * 1024;
