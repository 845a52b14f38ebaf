/** Bounds of the use of PostgreSQL, each with its reason. */

/** Connections of one process: metadata is read rarely, and a database serves many processes. */
export const CONNECTIONS_MAX = 8;
/** A database that does not take a connection within this is down. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout of the server for a statement. No statement of the platform takes long; one that does waits for a lock that was not released. */
export const STATEMENT_TIMEOUT_MS = 15_000;
/** Timeout for the answer of the server: longer than the server's own timeout, so only a hanging server or network exceeds it. */
export const QUERY_TIMEOUT_MS = 17_000;
/** Others may be migrating; a big table takes minutes. */
export const MIGRATION_LOCK_TIMEOUT_MS = 600_000;
/** First and longest pause between attempts to listen again after the connection was lost. */
export const LISTEN_AGAIN_FIRST_MS = 100;
export const LISTEN_AGAIN_LONGEST_MS = 5_000;
/** A silent connection may be broken: how often it is checked, and the time limit of the check. */
export const LISTEN_CHECK_MS = 5_000;
export const LISTEN_CHECK_TIMEOUT_MS = 3_000;
/** Pauses between attempts to read changes while the database is down: first and longest. */
export const FOLLOW_AGAIN_FIRST_MS = 100;
export const FOLLOW_AGAIN_LONGEST_MS = 2_000;
/** Interval at which a process tries to become the leader, and at which the leader checks that it still is. */
export const LEADER_POLL_MS = 1_000;
/** A slower poll counts as a lost connection: a leader must not continue for long after the database has accepted another one. */
export const LEADER_POLL_TIMEOUT_MS = 3_000;
/** The database ends the connection of a leader that is silent for this long, many polls: it is frozen, and others wait for its lock. */
export const LEADER_SILENT_MS = 10_000;
/** Connections of one process to the archive: a few look-ups at a time, and the archiver. */
export const ARCHIVE_CONNECTIONS_MAX = 4;
/** Reads give up soon after; the archiver has time to retry. */
export const ARCHIVE_CONNECT_TIMEOUT_MS = 2_000;
/** Pause between attempts to migrate a database that was down; calls in between fail with the last error. */
export const MIGRATE_AGAIN_MS = 1_000;
/** A little longer than the server's own timeout: after that the server hangs. */
export const ARCHIVE_STATEMENT_TIMEOUT_MS = 20_000;
/** Rows of a scan at a time: some hundred kilobytes. */
export const ARCHIVE_SCAN_PAGE = 500;
/** A slower read fails: a client waits for it, and can retry. */
export const ARCHIVE_FIND_TIMEOUT_MS = 3_000;
/**
 * A packed journal has some ten bytes more for each entry than its bodies: one with more bytes than this factor times the bound, and this
 * allowance for tiny entries, is too large and is not fetched.
 */
export const ARCHIVE_PACKED_BYTES_FACTOR = 2;
export const ARCHIVE_PACKED_BYTES_ALLOWANCE = 1024 * 1024;
/** Connections of one tenancy process: the Cloud API, requests of gateways and relays, and the reconciler. */
export const TENANCY_CONNECTIONS_MAX = 12;
/** A transaction that met a deadlock is run again: two of them are rare, three in a row are a mistake. */
export const TRANSACTION_TRIES_MAX = 3;
/** Rows of the login tables that are over and removed with each new one: more than are added, so that they stay few. */
export const PURGED_AT_ONCE = 10;
/** Sessions are stored for this long after they expired: longer than their last access token is valid (12 h). */
export const SESSION_KEPT_MS = 2 * 86_400_000;
/** Texts of statements whose names are cached: there are some hundred; texts that differ each time must not fill memory. */
export const STATEMENT_NAMES_MAX = 1_000;
/** Roles are changed by one operator at a time, within some statements: an operator that holds the lock for longer is stuck. */
export const ROLE_LOCK_TIMEOUT_MS = 10_000;
/** An archive may have millions of rows. The environment rests meanwhile, and an operator that is busy with it does less else. */
export const MOVE_TIMEOUT_MS = 600_000;
