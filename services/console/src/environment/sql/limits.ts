/** Bounds of the SQL page, each with its reason. */

/** Rows of one result: as many as a user reads and a browser holds easily. For more, the user adds a LIMIT or uses the command line. */
export const ROWS_MAX = 10_000;
/** Number of statements that are stored, and the longest of them: together well below what a browser stores for a site. */
export const HISTORY_MAX = 50;
export const SAVED_MAX = 100;
export const REMEMBERED_CHARS_MAX = 10_000;
/** Characters of a cell in the table; all of it is in the row's own view. */
export const CELL_CHARS_SHOWN = 300;
/** Pixels; the table computes with it. */
export const ROW_HEIGHT = 30;
/** Width of a column in characters: a header must be readable, and one long text must not push the others out of sight. */
export const COLUMN_CHARS_MIN = 6;
export const COLUMN_CHARS_MAX = 44;
/** Rows whose cells determine the width of columns: those that a user sees first. */
export const MEASURED_ROWS_MAX = 200;
/** Bars of a chart: more do not fit on a screen. */
export const BARS_SHOWN_MAX = 40;
