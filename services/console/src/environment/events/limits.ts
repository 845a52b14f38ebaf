/** Bounds of the page of events. */

/** Newest failed deliveries that are listed; SQL has all. */
export const DELIVERIES_SHOWN_MAX = 50;
/** The statement walks over invocations. */
export const DELIVERIES_EVERY_MS = 15_000;
/** Subscriptions change by requests of users. */
export const SUBSCRIPTIONS_EVERY_MS = 10_000;
