/** Bounds of the test environment, with the reason for each value. */

/** Longest delay of Node's timers (2³¹−1 ms); longer ones fire at once. */
export const REAL_TIMER_MS_MAX = 2_147_483_647;

/** Partitions of an environment: two, so that calls cross partitions as in a server. */
export const PARTITION_COUNT = 2;

/**
 * Interval of the clock at which data beyond its retention is removed. Each passing of it costs some 20 µs when time jumps, so that a year
 * passes in about 30 ms.
 */
export const CLEANUP_INTERVAL_MS = 6 * 3_600_000;

/** Turns of the event loop without any activity after which nothing is in flight: a request within the process takes about five. */
export const QUIET_TURNS = 24;

/** Turns of the event loop within which a timer that causes work has begun it. Most timers of housekeeping cause none. */
export const TIMER_TURNS = 4;

/** Real time of silence after which a handler that does not report what it awaits is requested to suspend. */
export const SILENCE_MS = 10;

/** Real time that a handler may work while time is to be moved; then the move fails with the names of the handlers that still work. */
export const WORK_MS_MAX = 30_000;

/** Attempts at one time. Each has a stream and a connection's share; a test that needs more measures something else. */
export const ATTEMPTS_MAX = 10_000;

/** Entries of the journal that is read for a comparison. */
export const JOURNAL_ENTRIES_MAX = 100_000;

/** Lines of the engine's log that are kept for the report of a failed test. */
export const LOG_LINES_MAX = 1_000;

/** Bytes of a request to `/testing`: a fault or a time is a few hundred. */
export const BODY_BYTES_MAX = 64 * 1024;

/** Faults of the test server at one time; each is compared at every step. */
export const FAULTS_MAX = 1_000;

/** Interval at which the test server checks that its parent is alive. */
export const PARENT_CHECK_MS = 250;

/** Runs and real time of an exploration unless the test says otherwise: a run takes some 30 ms, and a suite waits for a minute at most. */
export const EXPLORED_RUNS_MAX = 500;
export const EXPLORED_MS_MAX = 60_000;

/** Real time of one run of a scenario, in which it jumps over all sleeps. */
export const RUN_MS_MAX = 10_000;

/** Interval at which a run is checked for invocations that never complete. */
export const STUCK_CHECK_MS = 50;
