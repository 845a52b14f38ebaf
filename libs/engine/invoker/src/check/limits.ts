/** Bounds of replays that only check, with the reason for each value. */

/**
 * How long a response may continue after its final message until its stream is reset. Nothing of it is read. One second keeps a
 * connection that the next replay can use, and no endpoint can delay a check by closing its stream late.
 */
export const CHECK_DRAIN_MS = 1_000;

/**
 * Bytes of a response besides one message at its limit: reports of awaits that the endpoint may send before its first relevant message.
 */
export const CHECK_CHATTER_BYTES_MAX = 1024 * 1024;
