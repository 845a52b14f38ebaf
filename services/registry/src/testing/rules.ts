/** Rules with defaults for the fields that a test does not set. */
import type { RuleChange } from "@perdure/metadata";

/** Returns a change without limits, enabled, whatever is there now. */
export function aRuleChange(change: Partial<RuleChange> & { pattern: string }): RuleChange {
  return {
    concurrency: undefined,
    rate: undefined,
    weight: undefined,
    priority: undefined,
    description: undefined,
    disabled: false,
    precondition: { kind: "none" },
    ...change,
  };
}
