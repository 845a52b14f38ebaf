/** Bounds of undo, each with its reason. */

/** Interval at which an operation that can be undone is requested: another user may undo it, and its time may be over. */
export const UNDOABLE_MS = 5_000;
/** Interval while a batch undoes it: a progress bar that moves. */
export const UNDOING_MS = 500;
/** Rows of the list: a page that is still quick. The server lists up to 2,000, and the command line shows them all. */
export const OPERATIONS_SHOWN_MAX = 200;
