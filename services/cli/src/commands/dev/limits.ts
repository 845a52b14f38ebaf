/** Bounds of `perdure dev`, each with its reason. Milliseconds end in `Ms`. */

/** A server needs half a second to be ready, more on a busy machine; after this time it failed. */
export const SERVER_READY_MS_MAX = 60_000;
/** Time between SIGTERM and SIGKILL of a child process: the server drains its listeners for some seconds. */
export const STOP_MS_MAX = 10_000;
/** The same for a restart after a change: the developer waits, and some servers wait for the connection of the Perdure server to close. */
export const RESTART_STOP_MS_MAX = 1_500;
/** Timeout of one discovery request on this machine: a slower service is stopped at a breakpoint. */
export const PROBE_MS_MAX = 1_500;
/** Pause between two polls of a service that answers. */
export const PROBE_PAUSE_MS = 1_000;
/** Pause between two polls of a service that does not answer (yet, or any more): the developer waits for it. */
export const SEARCH_PAUSE_MS = 300;
/** Polls without an answer after which the interval is the one of a service that answers. */
export const QUICK_PROBES_MAX = 200;
/** A lost connection is reported after so many polls without an answer: a reload by the service's own tool is over by then. */
export const LOST_PROBES_MAX = 10;
/** Polls between two checks of the usual ports although `--port` names another one. */
export const ELSEWHERE_PROBE_INTERVAL = 10;
/** Entries of the project that are checked for changes once a second. */
export const SOURCE_ENTRIES_MAX = 2_000;
/** Files of a Go package that are read to find `package main`: the first file already shows it. */
export const GO_FILES_MAX = 20;
/** Restarts of a crashing service in a row; after so many crashes the developer must act. */
export const RESTARTS_MAX = 5;
/** Bounds of the random pauses before restarts. */
export const RESTART_BOUNDS = { firstMs: 1_000, longestMs: 16_000 } as const;
/** Longest line of a program's output that is printed. */
export const LINE_CHARS_MAX = 8_000;
/** Last lines of output that are shown when a program does not start. */
export const LAST_LINES = 20;
/** Entries of the folder that are read: the first shows that it is not empty. */
export const ENTRIES_MAX = 1_000;
