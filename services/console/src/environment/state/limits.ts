/** Bounds of the pages of state, each with its reason. */

/** Keys on one page: they fit two screens, and the next page begins after the last. */
export const KEYS_SHOWN_MAX = 100;
/** Characters of a value in the table; all of it is in the editor. */
export const VALUE_CHARS_SHOWN = 2_000;
/** Invocations that wait for the lock, as far as they are listed. */
export const WAITING_SHOWN_MAX = 20;
/** Time for which the page polls whether an edit has been applied; behind a running handler it takes as long as the handler. */
export const APPLIED_CHECKS_MAX = 8;
export const APPLIED_PAUSE_MS = 250;
