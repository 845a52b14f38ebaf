/** Decides which invocations of a scope may start, by concurrency, rate, fairness and priority. */
export type { BucketValue } from "./bucket.js";
export * from "./rows.js";
export * from "./rule.js";
export { RuleBook, splitLimitKey } from "./rule-book.js";
export { FlowScheduler, type FlowSubject } from "./scheduler.js";
export { bucketRows, limitRows, liveQueues, waitOf } from "./views.js";
