/** Bounds of running several programs on one machine, each with the reason for its value. */

/** Pause between two checks of a process: short enough to go unnoticed. */
export const POLL_MS = 50;
/** Time between SIGTERM and SIGKILL: roles drain for five seconds at most, servers write what they hold. */
export const STOP_MS_MAX = 15_000;
/** A command that stops a group waits so long for the supervisor to stop everything in order, before it stops the processes itself. */
export const ORDERLY_MS_MAX = 40_000;
/** Interval of checks whether a process has ended by itself. */
export const WATCH_MS = 500;
/** Programs that end by themselves are started again that often in all; then a restart does not solve the problem. */
export const RESTARTS_MAX = 50;
