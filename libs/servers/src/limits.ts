/** Bounds of starting and stopping servers, each with the reason for its value. */

/** A server that is not ready by then will not be: the slowest, an `initdb` on a busy machine, takes some seconds. */
export const READY_MS_MAX = 60_000;
/** Pause between two looks at a server that starts; short, because most are ready within 50 ms. */
export const READY_POLL_MS = 20;
/** A server that has not ended by then after SIGTERM is killed: its data are in a directory of ours or kept by its log. */
export const STOP_MS_MAX = 10_000;
/** Lines of a server's log kept in memory, and the length at which one is cut: enough to see why it failed. */
export const LOG_LINES_MAX = 2_000;
export const LOG_LINE_CHARS_MAX = 1_000;
/** A free port may be taken by somebody else before the server binds it; another one is tried that often. */
export const PORT_ATTEMPTS_MAX = 5;
/** A question to a server that answers at once, or never. */
export const ASK_MS_MAX = 2_000;
/** Downloading packages: some MB from a mirror. */
export const DOWNLOAD_MS_MAX = 300_000;
/** What a package tool may print. */
export const TOOL_OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
