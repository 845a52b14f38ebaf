export type { BucketValue } from "./bucket.js";
export * from "./rows.js";
export * from "./rule.js";
export { RuleBook, splitLimitKey } from "./rule-book.js";
export { type SlotAdmission, FlowScheduler, type FlowSubject } from "./scheduler.js";
export { bucketRows, type LiveQueue, limitRows, liveQueues, waitOf } from "./views.js";
