/** Bounds of the playground, each with its reason. */

/** Calls that are remembered: as many as one finds again by looking. */
export const HISTORY_MAX = 20;

/** Of one body that is remembered; browsers give a page some 5 MB for everything. */
export const HISTORY_BODY_CHARS_MAX = 32 * 1024;

/** Of an answer that is shown; all of it is at its invocation. */
export const ANSWER_CHARS_MAX = 512 * 1024;
