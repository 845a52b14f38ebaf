/** Why: every bound of this package in one place, each with the reason for its value. */

/** Invocations one explanation follows, beginning with the one asked about: deep enough for real chains, cheap enough to repeat. */
export const CHAIN_INVOCATIONS_MAX = 64;

/** Steps from one invocation to the next that an explanation follows. */
export const CHAIN_DEPTH_MAX = 32;

/** Leaves of an awaited tree that are shown; a tree may name thousands of calls, and nobody reads them. */
export const AWAITED_LEAVES_MAX = 200;

/** Things named one after the other in a sentence before the rest is only counted. */
export const NAMED_IN_SENTENCE_MAX = 3;

/** Characters of somebody's error message that a sentence repeats. */
export const QUOTED_CHARS_MAX = 200;

/** Steps one timeline shows; more are reached by asking from a later one on. */
export const STEPS_SHOWN_MAX = 1000;

/** Bytes of one payload that are shown when payloads are asked for … */
export const PAYLOAD_BYTES_SHOWN_MAX = 4 * 1024;
/** … and of all payloads of one answer. */
export const PAYLOADS_BYTES_SHOWN_MAX = 256 * 1024;
