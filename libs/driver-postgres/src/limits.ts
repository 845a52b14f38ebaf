/** Bounds of what we ask of PostgreSQL, and why. */

/** Connections of one process: metadata is read rarely, and a database serves many processes. */
export const CONNECTIONS_MAX = 8;
/** A database that does not take a connection within this is down. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** No statement of ours takes long; one that does waits for a lock that somebody forgot. */
export const STATEMENT_TIMEOUT_MS = 15_000;
/** Longer than the server's own patience: what is not answered by then never will be, because server or network hang. */
export const QUERY_TIMEOUT_MS = 17_000;
/** Others may be migrating; a big table takes minutes. */
export const MIGRATION_LOCK_TIMEOUT_MS = 600_000;
/** Between attempts to listen again after the connection was lost: first and longest pause. */
export const LISTEN_AGAIN_FIRST_MS = 100;
export const LISTEN_AGAIN_LONGEST_MS = 5_000;
/** A connection over which nothing comes may be dead; so often it is asked, and so long it has to answer. */
export const LISTEN_CHECK_MS = 5_000;
export const LISTEN_CHECK_TIMEOUT_MS = 3_000;
/** Between attempts to read what others changed while the database is away: first and longest pause. */
export const FOLLOW_AGAIN_FIRST_MS = 100;
export const FOLLOW_AGAIN_LONGEST_MS = 2_000;
/** How often who does not lead asks to, and who leads looks whether it still does. */
export const LEADER_POLL_MS = 1_000;
/** A look that takes longer is a lost connection: whoever leads must not believe so for long after the database let another in. */
export const LEADER_POLL_TIMEOUT_MS = 3_000;
/** The database ends the connection of a leader that is silent for so long, many looks: it is frozen, and others wait for its lock. */
export const LEADER_SILENT_MS = 10_000;
/** Connections of one process to the archive: a few look-ups at a time, and the archiver. */
export const ARCHIVE_CONNECTIONS_MAX = 4;
/** A look-up gives up soon after; whoever archives has time and comes again. */
export const ARCHIVE_CONNECT_TIMEOUT_MS = 2_000;
/** Between attempts to migrate a database that was not there: whoever asks in between hears what went wrong last. */
export const MIGRATE_AGAIN_MS = 1_000;
/** A little longer than the server's own patience: what comes after that comes from a server that hangs. */
export const ARCHIVE_STATEMENT_TIMEOUT_MS = 20_000;
/** Rows of a scan at a time: some hundred kilobytes. */
export const ARCHIVE_SCAN_PAGE = 500;
/** A look-up that takes longer is not answered: somebody waits for it, and can come again. */
export const ARCHIVE_FIND_TIMEOUT_MS = 3_000;
/** Connections of one tenancy process: the Cloud API, what doors ask, and the reconciler. */
export const TENANCY_CONNECTIONS_MAX = 12;
/** A transaction that met a deadlock is run again: two of them are rare, three in a row are a mistake. */
export const TRANSACTION_TRIES_MAX = 3;
/** Rows of the login tables that are over and removed with each new one: more than are added, so that they stay few. */
export const PURGED_AT_ONCE = 10;
/** Sessions are known for this long after they expired: longer than the last access token of theirs is good (12 h). */
export const SESSION_KEPT_MS = 2 * 86_400_000;
/** Texts of statements whose names are remembered: we have some hundred; a text that is made up anew each time must not fill memory. */
export const STATEMENT_NAMES_MAX = 1_000;
/** Roles are changed by one operator at a time, within some statements: whoever holds them up for longer is stuck. */
export const ROLE_LOCK_TIMEOUT_MS = 10_000;
/** An archive may have millions of rows. The environment rests meanwhile, and an operator that is busy with it does less else. */
export const MOVE_TIMEOUT_MS = 600_000;
