/** Bounds of a processor, each with the reason for its value. */

/** Commands applied before the event loop gets a turn: about 20 ms of work, so that sockets and timers are served. */
export const TURN_COMMANDS_MAX = 1_000;
/** On a slow or busy machine a turn ends after this long, and the rest waits for the next one … */
export const TURN_MS_MAX = 15;
/**
 * … which is checked after so many commands, including those sent by others, because reading the clock costs a few percent of a
 * command.
 */
export const TURN_CLOCK_COMMANDS = 32;

/**
 * Messages of one command that are applied in the same batch in partitions led here, with their consequences: some 10 ms. The others go
 * through the outbox, each as one command of a later turn. One `kill` may reach ten thousand children, or a chain of calls that is as
 * deep.
 */
export const SENT_AT_ONCE_MAX = 256;

/** Waiting commands beyond which new invocations are refused: some 100 MB of small ones, seconds of work. */
export const MAILBOX_COMMANDS_MAX = 50_000;

/** Payload bytes in the mailbox beyond which new invocations are refused. */
export const MAILBOX_BYTES_MAX = 256 * 1024 * 1024;

/** Applied but unwritten payload bytes beyond which applying waits for the disk. */
export const PENDING_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Applied but unwritten mutations beyond which applying waits for the write under way: encoding a batch, handing it to the store and performing its
 * effects are one piece of work each, and take about 10 µs for a mutation. So each is some 20 ms, while bytes alone let 130,000 mutations gather.
 */
export const PENDING_MUTATIONS_MAX = 2_048;

/** Memory and stored bytes of a note of undo beside its record. */
export const UNDO_NOTE_BYTES = 256;
/** Records of undo that one command deletes when their time is over; the next command deletes others. */
export const UNDO_DROPS_MAX = 512;

/** Due timers read from the store at a time. */
export const TIMER_PAGE = 512;

/** Outbox messages under way at a time per partition. */
export const OUTBOX_PAGE = 256;

/** Maximum number of objects whose whole state is cached for the next attempt, and the bytes they may hold together. */
export const CACHED_OBJECTS_MAX = 4_096;
export const CACHED_STATE_BYTES_MAX = 32 * 1024 * 1024;
/** Larger states are read from the store each time. */
export const CACHED_OBJECT_BYTES_MAX = 64 * 1024;

/**
 * Rows of a store behind a network that the leader of a partition caches: those of active invocations and keys. With all partitions of
 * an environment in one worker some 50,000, about a KiB each; rows of suspended invocations are fetched again when they wake.
 */
export const CACHED_ROWS_MAX = 2_048;

/** A message that no leader accepted is offered again after this time, without limit. */
export const OFFER_AGAIN_MS = 50;

/** Maximum number of commands that wait for the archive; callers of further ones get an error that they can retry. Some 10 MB. */
export const ARCHIVE_REQUESTS_MAX = 10_000;
/** Maximum number of invocations read, archived or deleted in one statement. */
export const ARCHIVE_PAGE = 200;
/** A journal larger than this stays in the store until its retention is over: it would make a statement of some hundred megabytes. */
export const ARCHIVED_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum bytes of one statement, unless a single invocation has more. */
export const ARCHIVE_PUT_BYTES = 4 * 1024 * 1024;
/** Maximum number of invocations of a partition that are too large to archive; beyond, its archiving waits until some of them expire. */
export const TOO_LARGE_MAX = 1_000;
/** Fingerprints of archived ids that are stored together: 12 KiB, written again with each page that is evicted until it is full. */
export const FINGERPRINTS_IN_CHUNK = 2_048;
/**
 * A fingerprint is kept longer than the retention of its invocation: a timer that ends a generation may be late while the archive is
 * unavailable.
 */
export const FINGERPRINTS_KEPT_MS = 86_400_000;
/** Bounds of the random pause before a partition whose archived ids are not complete reads the archive again. */
export const LEARN_AGAIN_BOUNDS = { firstMs: 20_000, longestMs: 20_000 } as const;
/** Bounds of the random pause before a message looks up the archive again after it was unavailable. */
export const ARCHIVE_RETRY_BOUNDS = { firstMs: 2_000, longestMs: 2_000 } as const;

/** Bodies from this size are counted as garbage once they are durable; smaller ones are collected soon enough with everything else. */
export const LARGE_PAYLOAD_BYTES = 64 * 1024;
