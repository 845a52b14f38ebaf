/** Bounds of `perdure dev`, each with its reason. Milliseconds end in `Ms`. */

/** A server that is not ready by then will not be: it takes half a second, more on a busy machine. */
export const SERVER_READY_MS_MAX = 60_000;
/** Between SIGTERM and SIGKILL of what we started: the server drains its doors for some seconds. */
export const STOP_MS_MAX = 10_000;
/** One discovery request on this machine: whoever needs longer is stopped at a breakpoint. */
export const PROBE_MS_MAX = 1_500;
/** Pause between two looks at a service that answers. */
export const PROBE_PAUSE_MS = 1_000;
/** Pause between two looks for one that does not answer (yet, or any more): people wait for it. */
export const SEARCH_PAUSE_MS = 300;
/** After so many looks in vain the search is as slow as the looks at one that answers. */
export const QUICK_PROBES_MAX = 200;
/** A connection that broke is reported after so many looks in vain: a reload of the service's own tool is over by then. */
export const LOST_PROBES_MAX = 10;
/** Once in so many looks a service is looked for at the usual ports although `--port` names another one. */
export const ELSEWHERE_PROBE_INTERVAL = 10;
/** Entries of the project that are looked at for changes once a second. */
export const SOURCE_ENTRIES_MAX = 2_000;
/** How often a service that crashes is started again in a row; what crashes that often needs a person. */
export const RESTARTS_MAX = 5;
/** Bounds of the random pauses before them. */
export const RESTART_BOUNDS = { firstMs: 1_000, longestMs: 16_000 } as const;
/** Longest line of a program that is passed on. */
export const LINE_CHARS_MAX = 8_000;
/** Lines of a program that are shown when it does not start. */
export const LAST_LINES = 20;
/** Entries of the folder that are looked at: whether it is empty is clear after the first. */
export const ENTRIES_MAX = 1_000;
