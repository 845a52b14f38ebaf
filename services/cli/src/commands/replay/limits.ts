/** Bounds of replays on this machine, each with its reason. */

/** Index of a journal entry: journals have fewer entries. */
export const ENTRY_INDEX_MAX = 10_000_000;
/** Bytes of a bundle after decompression: the JSON of the largest bundle that a server makes is a quarter of it. */
export const BUNDLE_JSON_BYTES_MAX = 512 * 1024 * 1024;
/** Time of the discovery of the endpoint: it may be starting, and no debugger stands in it yet. */
export const DISCOVERY_MS = 10_000;
/** One message of the handler: what the largest server accepts. */
export const MESSAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Lines of a stack trace that are printed. */
export const STACK_LINES_MAX = 20;
/** Characters of a payload on a line. */
export const PREVIEW_CHARS_MAX = 80;
