/** Every bound of the wire to user endpoints, with the reason for its value. */

/** Bytes of a frame header: 16-bit type, 16-bit flags, 32-bit length, big-endian. */
export const frameHeaderBytes = 8;

/**
 * Nominal limit of one message from an endpoint, in bytes. Published default of the protocol's
 * `message_size_limit`: user code is written against it (state values, call parameters, results).
 */
export const messageBytesMaxDefault = 32 * 1024 * 1024;

/** Bytes above the nominal limit for the fields around a payload, so that a payload of exactly the limit still fits. */
const messageBytesSlack = 256 * 1024;

/** Size from which a message causes a warning in the log: it works, but it is slow to replay and near the limit. */
export const messageBytesWarn = 10 * 1024 * 1024;

/**
 * Initial buffer for a body that comes in several chunks, in bytes. Four HTTP/2 data frames: most such bodies are finished without growing.
 */
export const frameGatherBytesInitial = 64 * 1024;
/**
 * Then the buffer grows by this factor: a body of 1 MB is moved once and leaves 64 KiB of garbage instead of one MB. A peer gets at most
 * this many times the memory of the bytes it sent.
 */
export const frameGatherFactor = 32;

/**
 * Levels of a future tree, the root being level 1. Deeper trees are RT0025: evaluation and decoding recurse once
 * per level, and a thousand levels stay far from the end of the stack.
 */
export const futureDepthMax = 1000;

/** The first declared body length, in bytes, that is refused under a nominal limit (see `FrameDecoder`). */
export function frameBodyBytesLimit(messageBytesMax: number = messageBytesMaxDefault): number {
  return messageBytesMax + messageBytesSlack;
}
