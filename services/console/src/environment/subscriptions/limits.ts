/** Bounds of the page of subscriptions, each with its reason. */

/** Subscriptions whose state is requested: one request each, repeatedly. */
export const STATUSES_MAX = 50;
