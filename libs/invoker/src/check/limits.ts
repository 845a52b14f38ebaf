/** Bounds of replays that only check, with the reason for each value. */

/**
 * How long a response may go on after its last word until its stream is reset. Nothing of it is read; a second keeps a connection that
 * could serve the next replay, and no endpoint can hold a check up by being slow to hang up.
 */
export const CHECK_DRAIN_MS = 1_000;

/** Bytes of a response besides one message at its limit: what an endpoint may say of its awaits before it says anything that counts. */
export const CHECK_CHATTER_BYTES_MAX = 1024 * 1024;
