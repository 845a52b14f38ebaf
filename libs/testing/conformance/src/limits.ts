/** Bounds of the harness, each with its reason. Milliseconds end in `Ms`. */
import { TIMEOUT_FACTOR } from "@perdure/testkit";

/** Timeout of a start, which takes about a second on a loaded two-core machine. */
export const SERVER_START_MS = 30_000 * TIMEOUT_FACTOR;
/** Time between SIGTERM and SIGKILL; a server drains its listeners for some seconds while a client holds a request open. */
export const SERVER_STOP_MS = 20_000 * TIMEOUT_FACTOR;
/** Timeout of one request of a test; calls that wait for something slow set their own. */
export const REQUEST_MS = 20_000 * TIMEOUT_FACTOR;
/** Sockets of a client; further requests are queued. */
export const CLIENT_SOCKETS_MAX = 256;
/** Longest answer that a client reads: several times the largest payload of the suites. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Default time that `eventually` polls, times `TIMEOUT_FACTOR`. */
export const EVENTUALLY_MS = 10_000;
/** Pause between two checks of `eventually`: a tenth of the time that it took so far, since a check may cost the server a query. */
export const EVENTUALLY_PAUSE_MS_MIN = 10;
export const EVENTUALLY_PAUSE_MS_MAX = 100;
/** Sockets close some turns of the event loop after `close` was called. */
export const HANDLES_CLOSE_MS = 2_000;
/** Timeout of one command of the official CLI; its own requests time out after 13 seconds. */
export const CLI_MS = 30_000 * TIMEOUT_FACTOR;
/** A step of building images: the longest installs all packages, over a network when the cache is empty. */
export const BUILD_STEP_MS_MAX = 900_000;
/** Longest wait for a step of a tutorial: its services sleep up to five seconds, and a killed service starts again meanwhile. */
export const TUTORIAL_STEP_MS = 30_000;
