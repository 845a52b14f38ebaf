/** Bounds of the playground, each with its reason. */

/** Calls that are kept: as many as a user finds again in a list without a search. */
export const HISTORY_MAX = 20;

/** Size of one stored body; browsers give a page some 5 MB for everything. */
export const HISTORY_BODY_CHARS_MAX = 32 * 1024;

/** Size of an answer that is shown; the page of its invocation has all of it. */
export const ANSWER_CHARS_MAX = 512 * 1024;
