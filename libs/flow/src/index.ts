export type { BucketValue } from "./bucket.js";
export * from "./rows.js";
export * from "./rule.js";
export { RuleBook, splitLimitKey } from "./rule-book.js";
