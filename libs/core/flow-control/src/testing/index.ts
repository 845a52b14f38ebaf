/** Builders of rules: a test gives only the fields that it is about. */
import type { FlowRule } from "../rule.js";

/** A rule without any limit, changed by `change`. */
export function aRule(pattern: string, change: Partial<FlowRule> = {}): FlowRule {
  return { pattern, concurrency: undefined, rate: undefined, weight: 1, priority: undefined, disabled: false, ...change };
}
