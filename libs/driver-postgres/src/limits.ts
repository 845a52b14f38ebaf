/** Bounds of what we ask of PostgreSQL, and why. */

/** Connections of one process: metadata is read rarely, and a database serves many processes. */
export const CONNECTIONS_MAX = 8;
/** A database that does not take a connection within this is down. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** No statement of ours takes long; one that does waits for a lock that somebody forgot. */
export const STATEMENT_TIMEOUT_MS = 15_000;
/** Others may be migrating; a big table takes minutes. */
export const MIGRATION_LOCK_TIMEOUT_MS = 600_000;
/** Between attempts to listen again after the connection was lost: first and longest pause. */
export const LISTEN_AGAIN_FIRST_MS = 100;
export const LISTEN_AGAIN_LONGEST_MS = 5_000;
/** How often who does not lead asks to, and who leads looks whether it still does. */
export const LEADER_LOOK_MS = 1_000;
/** A look that takes longer is a lost connection: whoever leads must not believe so for long after the database let another in. */
export const LEADER_LOOK_TIMEOUT_MS = 3_000;
/** Connections of one process to the archive: a few look-ups at a time, and the archiver. */
export const ARCHIVE_CONNECTIONS_MAX = 4;
/** A little longer than the server's own patience: what comes after that comes from a server that hangs. */
export const ARCHIVE_STATEMENT_TIMEOUT_MS = 20_000;
/** Rows of a scan at a time: some hundred kilobytes. */
export const ARCHIVE_SCAN_PAGE = 500;
/** A look-up that takes longer is not answered: somebody waits for it, and can come again. */
export const ARCHIVE_FIND_TIMEOUT_MS = 3_000;
