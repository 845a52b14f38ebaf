/** Bounds of the page of rules and queues, each with its reason. */

/** Scopes and keys in use, and queues, on the page; those with the longest queues come first. */
export const USAGE_SHOWN_MAX = 200;
export const QUEUES_SHOWN_MAX = 200;
