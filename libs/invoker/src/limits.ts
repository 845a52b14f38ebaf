/** Bounds and timings of attempts, with the reason for each value. Settings users may change are in `options.ts`. */

/** How long a response may go on after the handler's last message until its stream is reset (service-protocol §6.4). */
export const DRAIN_MS = 5_000;

/**
 * Replayed and live frames are gathered into writes of up to this many bytes: four HTTP/2 frames, past which a bigger write
 * saves nothing. A body that alone is longer is written without being copied.
 */
export const GATHER_BYTES = 64 * 1024;

/** Writes up to this length share a slab; a longer one would leave too much of it unused. */
export const SLAB_SLICE_BYTES_MAX = 4 * 1024;

/**
 * Bytes of notifications and acks that wait for a slow endpoint, beside one frame that is always taken. Beyond, the request is
 * half-closed: the handler suspends when it blocks, and its next attempt replays from the store what was not delivered.
 */
export const OUTGOING_BYTES_MAX = 2 * 1024 * 1024;

/** Bytes of commands and proposals not yet durable, at which an attempt stops reading its stream … */
export const UNSETTLED_BYTES_MAX = 1024 * 1024;
/** … and their number, because small commands cost the partition as much as large ones. */
export const UNSETTLED_COMMANDS_MAX = 1_024;

/** Longest delay between two attempts, a year: policies multiply without end, clocks do not. */
export const RETRY_DELAY_MS_MAX = 365 * 24 * 3_600_000;

/**
 * Times in a row that an invocation whose stream was refused unprocessed is tried again without counting an attempt: the connection is
 * retired, and the next one usually takes it. The delay before the n-th is random, up to this long times 2^n: 1.3 s in all at most.
 */
export const REFUSALS_MAX = 6;
export const REFUSAL_DELAY_MS = 10;

/** Random increase of a policy's delay, as a share of it (service-protocol §8.2): what failed together must not return together. */
export const RETRY_JITTER = 1 / 3;

/** Characters of text from an endpoint that we repeat in an error message. */
export const QUOTED_CHARS_MAX = 200;

/** A run that must wait for a slot keeps the journal it was handed only up to this many bytes; a longer one is read again. */
export const HELD_JOURNAL_BYTES_MAX = 4 * 1024;
