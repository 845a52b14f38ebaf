/**
 * Bounds of what is kept in memory, each with its reason. This project builds the console; a larger one means that the setting names
 * another directory.
 */

/** The console has some two hundred files with their compressed forms. */
export const FILES_MAX = 4_000;

/** The largest piece of the console is an editor of some hundred KiB. */
export const FILE_BYTES_MAX = 8 * 1024 * 1024;

/** All of it, which stays in memory: the console has a few MiB. */
export const ALL_BYTES_MAX = 64 * 1024 * 1024;

/** Depth of folders: the console has one level below its own. */
export const DEPTH_MAX = 8;

/** Characters of an `accept-encoding` or `if-none-match` that are read; browsers send some dozens. */
export const HEADER_CHARS_MAX = 4_096;
