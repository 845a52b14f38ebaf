/** Why: tests name rules that show only what they are about. */
import type { FlowRule } from "../rule.js";

/** A rule that says nothing yet. */
export function aRule(pattern: string, change: Partial<FlowRule> = {}): FlowRule {
  return { pattern, concurrency: undefined, rate: undefined, weight: 1, priority: undefined, disabled: false, ...change };
}
