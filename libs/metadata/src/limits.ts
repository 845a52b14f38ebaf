/** Why: every bound of this package in one place, each with the reason for its value. */

/** Longest key in UTF-16 units: the longest names we store (services, clusters, patterns) with their prefix. */
export const KEY_CHARS_MAX = 1024;

/** Largest document as JSON text, in characters: a deployment with a manifest at its own bound still fits, twice over. */
export const DOCUMENT_CHARS_MAX = 64 * 1024 * 1024;

/** Documents one atomic write may touch. */
export const WRITES_MAX = 1024;

/** Documents one list may return. Metadata is small; more than this under one prefix is a mistake, not data. */
export const LISTED_DOCUMENTS_MAX = 100_000;
