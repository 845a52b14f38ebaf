/** Bounds of a processor, each with the reason for its value. */

/** Commands applied before the event loop gets a turn: about 20 ms of work, so that sockets and timers stay lively. */
export const TURN_COMMANDS_MAX = 1_000;

/** Waiting commands beyond which new invocations are refused: some 100 MB of small ones, seconds of work. */
export const MAILBOX_COMMANDS_MAX = 50_000;

/** Payload bytes in the mailbox beyond which new invocations are refused. */
export const MAILBOX_BYTES_MAX = 256 * 1024 * 1024;

/** Applied but unwritten payload bytes beyond which applying waits for the disk. */
export const PENDING_BYTES_MAX = 32 * 1024 * 1024;

/** Due timers read from the store at a time. */
export const TIMER_PAGE = 512;

/** Outbox messages under way at a time per partition. */
export const OUTBOX_PAGE = 256;

/** Objects whose whole state is kept in memory for the next attempt, and the bytes they may hold together. */
export const CACHED_OBJECTS_MAX = 4_096;
export const CACHED_STATE_BYTES_MAX = 32 * 1024 * 1024;
/** Larger states are read from the store each time. */
export const CACHED_OBJECT_BYTES_MAX = 64 * 1024;

/** Rows that a leader keeps of a store behind a network: those of the invocations and keys that something happens to. */
export const CACHED_ROWS_MAX = 50_000;

/** A message that no leader took is offered again after this long, for as long as it takes. */
export const OFFER_AGAIN_MS = 50;
