/** Bounds of the suite of published SDKs, each with its reason. Milliseconds end in `Ms`. */

/** A first Rust build compiles about 180 crates on one core. */
export const BUILD_STEP_MS = 30 * 60_000;
/** A Java endpoint on a loaded two-core machine takes some seconds to listen. */
export const ENDPOINT_START_MS = 60_000;
/** Timeout of one scenario; its own waits are shorter. */
export const SCENARIO_MS = 60_000;
/** Longest wait for something that the server does at once when the machine is not loaded. */
export const SOON_MS = 20_000;
/** Inactivity timeout in a restless mode. */
export const RESTLESS_MS = 50;
/** Pause between polls. */
export const RETRY_PAUSE_MS = 100;
/** First retry interval: short, because scenarios test retries and not their delay. */
export const FIRST_RETRY_MS = 50;
/**
 * More than the concurrent requests that endpoints accept on one connection (100 with hypercorn), so that the server needs a second one or
 * a queue.
 */
export const CROWD = 150;
/** Characters of a large value: many times the windows of HTTP/2 and the buffers of every layer. */
export const LARGE_CHARS = 2 * 1024 * 1024;
/** Lines of a failed program in an error. */
export const LAST_LINES = 15;
/** Timeout of a connection to a program on this machine; a failed attempt is repeated. */
export const PROBE_MS = 500;

/** One bundle or replay by the command line: two requests, and the start of a process on a busy machine. */
export const REPLAY_MS = 20_000;
/** The start of an endpoint, and a replay of each planted bug. */
export const REPLAYS_MS = ENDPOINT_START_MS + 4 * REPLAY_MS;
