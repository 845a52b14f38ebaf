/** Bounds of this package, each with the reason for its value. */

/** Invocations that one explanation follows, the explained one included: enough for real chains, cheap enough to repeat. */
export const CHAIN_INVOCATIONS_MAX = 64;

/** Steps from one invocation to the next that an explanation follows. */
export const CHAIN_DEPTH_MAX = 32;

/** Leaves of an awaited tree that are shown; a tree may name thousands of calls, more than an operator reads. */
export const AWAITED_LEAVES_MAX = 200;

/** Things that a sentence names before it only counts the rest. */
export const NAMED_IN_SENTENCE_MAX = 3;

/** Characters of an error message that a sentence quotes. */
export const QUOTED_CHARS_MAX = 200;

/** Steps that one timeline shows; a request with a later first step returns more. */
export const STEPS_SHOWN_MAX = 1000;

/** Bytes shown of one payload when the request includes payloads. */
export const PAYLOAD_BYTES_SHOWN_MAX = 4 * 1024;
/** Bytes shown of all payloads in one answer. */
export const PAYLOADS_BYTES_SHOWN_MAX = 256 * 1024;
