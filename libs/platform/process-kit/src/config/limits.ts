/** Bounds of reading settings, with their reasons. */

/** More edits than this and a suggestion is a guess rather than help. */
export const SUGGESTION_DISTANCE_MAX = 4;

/** Largest settings file that is read: settings are a few kilobytes, and a wrong path may name a file of any size. */
export const CONFIG_FILE_BYTES_MAX = 1 << 20;

/** Longest text of a problem's offending value shown in a message; the rest is cut. */
export const SHOWN_VALUE_CHARS_MAX = 80;
