/** The oldest major version of Node on which Perdure runs; the launcher itself runs on Node 20. */
export const NODE_MAJOR_MIN = 24;
/** Time until a server is ready: a data directory that was not closed is recovered first. */
export const READY_MS_MAX = 60_000;
/** Time that a server has to stop before it is killed; its own `shutdown-timeout` is shorter. */
export const STOP_MS_MAX = 60_000;
/** Lines of a server that could not start which the error repeats. */
export const ERROR_LINES_MAX = 30;
