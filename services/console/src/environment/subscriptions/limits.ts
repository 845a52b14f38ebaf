/** Bounds of the page of subscriptions, each with its reason. */

/** Subscriptions whose state is asked for: one request each, again and again. */
export const STATUSES_MAX = 50;
