/** Bounds of starting and stopping servers, each with the reason for its value. */

/** A server that is not ready by then will not be: the slowest, Kafka, takes 5 s, and minutes on a machine with much else to do. */
export const READY_MS_MAX = 180_000;
/** Pause between two checks of a server that starts; short, because most are ready within 50 ms. */
export const READY_POLL_MS = 20;
/** Another process may take a free port before the server binds it; the server is started with another port that often. */
export const PORT_ATTEMPTS_MAX = 5;
/** A question to a server that answers at once, or never. */
export const REQUEST_MS_MAX = 2_000;
/** Downloading packages: some MB from a mirror. */
export const DOWNLOAD_MS_MAX = 300_000;
/** Maximum output of a package tool. */
export const TOOL_OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** A database whose children are still ending after a crash refuses to start; it is started again that often, this far apart. */
export const DATABASE_TRIES_MAX = 20;
export const DATABASE_PAUSE_MS = 250;
/** Connections of the PostgreSQL server that the suites of a run share: two workers, each with a cloud of a dozen processes. */
export const SHARED_CONNECTIONS_MAX = 400;
/** Compiling a control plane: 1,900 packages, minutes on two cores and more beside other work. */
export const BUILD_MS_MAX = 45 * 60_000;
/** Lines of a compiler's output that are kept for the error when it fails. */
export const BUILD_LINES_MAX = 40;
/** Interval of checks whether another process has finished its build. */
export const BUILD_LOCK_POLL_MS = 500;
/** An answer of an API server that is up; a list of thousands of objects takes less. */
export const API_ANSWER_MS_MAX = 30_000;
/** Helm renders in a second, and installs without waiting in a few. */
export const HELM_MS_MAX = 120_000;
/** Playing all alerts through hours of series takes seconds; minutes on a busy machine. */
export const RULES_CHECK_MS_MAX = 120_000;
/** kubectl itself waits until deleted objects are gone; a namespace takes seconds, and a minute on a busy machine. */
export const KUBECTL_MS_MAX = 180_000;
/** Interval of progress messages while a program is compiled. */
export const PROGRESS_EVERY_MS = 10_000;
/** Unpacking an archive of a few MB: a moment, and longer on a busy machine. */
export const UNPACK_MS_MAX = 60_000;
/** Ports for servers of tests begin here: below are those of well-known servers, and some that browsers and `fetch` refuse. */
export const PORT_MIN = 11_000;
/** First port of the system's own range, if the system does not report it: the default of Linux. */
export const SYSTEM_PORT_MIN = 32_768;
/** Ports from here up to the system's own: ranges for programs that assign ports to what they start. */
export const RANGES_PORT_MIN = 21_000;
/** Number of test processes that can draw ports at the same time without a collision. */
export const PORT_STRIPES = 16;
