/** Bounds of the suite of published SDKs, each with its reason. Milliseconds end in `Ms`. */

/** A first Rust build compiles about 180 crates on one core. */
export const BUILD_STEP_MS = 30 * 60_000;
/** A Java endpoint on a loaded two-core machine takes some seconds to listen. */
export const ENDPOINT_START_MS = 60_000;
/** One scenario; its own waits are shorter, and this ends what they forgot. */
export const SCENARIO_MS = 60_000;
/** Longest wait for something that the server should have done at once, on a loaded machine. */
export const SOON_MS = 20_000;
/** So soon a handler of a restless mode is asked to suspend. */
export const RESTLESS_MS = 50;
/** Pause before a question is asked again. */
export const RETRY_PAUSE_MS = 100;
/** Retries are what some scenarios are about, and waiting for them is not. */
export const FIRST_RETRY_MS = 50;
/** More than endpoints take on one connection (100 with hypercorn), so that the server needs a second one or a queue. */
export const CROWD = 150;
/** Many times the windows of HTTP/2 and the buffers of every layer. */
export const LARGE_CHARS = 2 * 1024 * 1024;
/** Lines of a failed program that are shown. */
export const LAST_LINES = 15;
/** A connection to a program on this machine; one that takes longer is tried again. */
export const PROBE_MS = 500;
