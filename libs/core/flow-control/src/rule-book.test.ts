import { describe, expect, test } from "@jest/globals";
import type { FlowRule } from "./rule.js";
import { RuleBook, splitLimitKey } from "./rule-book.js";
import { aRule } from "./testing/index.js";

const book = (...patterns: string[]): RuleBook => new RuleBook(patterns.map((pattern) => aRule(pattern)));

describe("the rule that applies", () => {
  test.each<[rules: string[], scope: string, l1: string | undefined, l2: string | undefined, pattern: string | undefined]>([
    [["*", "s1"], "s1", undefined, undefined, "s1"],
    [["*", "s1"], "s2", undefined, undefined, "*"],
    [["s1"], "s2", undefined, undefined, undefined],
    [["s1"], "s1", "a", undefined, undefined],
    [["s1", "*/*", "*/a", "s1/*", "s1/a"], "s1", "a", undefined, "s1/a"],
    [["s1", "*/*", "*/a", "s1/*"], "s1", "a", undefined, "s1/*"],
    [["s1", "*/*", "*/a"], "s1", "a", undefined, "*/a"],
    [["s1", "*/*", "*/a"], "s1", "b", undefined, "*/*"],
    [["s1/a/b", "s1/a/*", "s1/*/b", "s1/*/*", "*/a/b", "*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "s1/a/b"],
    [["s1/a/*", "s1/*/b", "s1/*/*", "*/a/b", "*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "s1/a/*"],
    [["s1/*/b", "s1/*/*", "*/a/b", "*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "s1/*/b"],
    [["s1/*/*", "*/a/b", "*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "s1/*/*"],
    [["*/a/b", "*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "*/a/b"],
    [["*/a/*", "*/*/b", "*/*/*"], "s1", "a", "b", "*/a/*"],
    [["*/*/b", "*/*/*"], "s1", "a", "b", "*/*/b"],
    [["*/*/*"], "s1", "a", "b", "*/*/*"],
    [["s1/a"], "s1", "a", "b", undefined],
  ])("of %j for %s/%s/%s is %s", (rules, scope, l1, l2, pattern) => {
    expect(book(...rules).ruleFor(scope, l1, l2)?.pattern).toBe(pattern);
  });

  test("is never a disabled one, nor one of more than three components", () => {
    const rules = [aRule("s1", { disabled: true }), aRule("a/b/c/d")];
    expect(new RuleBook(rules).isEmpty).toBe(true);
    expect(new RuleBook(rules).ruleFor("s1", undefined, undefined)).toBeUndefined();
  });
});

describe("whether an invocation is limited", () => {
  const limited: Partial<FlowRule> = { concurrency: 1 };
  test.each<[rules: FlowRule[], scope: string, limitKey: string | undefined, limited: boolean]>([
    [[], "s1", "a", false],
    [[aRule("s1", limited)], "s1", undefined, true],
    [[aRule("s1", limited)], "s1", "a/b", true],
    [[aRule("s1", limited)], "s2", undefined, false],
    [[aRule("s1", { weight: 3, priority: 1 })], "s1", undefined, false],
    [[aRule("s1", { rate: { limit: 1, periodMs: 1, burst: 1 } })], "s1", undefined, true],
    [[aRule("s1", { ...limited, disabled: true })], "s1", undefined, false],
    [[aRule("s1/*", limited)], "s1", undefined, false],
    [[aRule("s1/*", limited)], "s1", "a", true],
    [[aRule("s1/*", limited)], "s1", "a/b", true],
    [[aRule("s1/*", limited), aRule("s1/a")], "s1", "a", false], // The most specific rule wins: it has no limit.
    [[aRule("*/*/b", limited)], "s1", "a", false],
    [[aRule("*/*/b", limited)], "s1", "a/b", true],
    [[aRule("*/*/b", limited)], "s1", "a/c", false],
  ])("by %j: %s %s: %s", (rules, scope, limitKey, expected) => {
    expect(new RuleBook(rules).limits(scope, limitKey)).toBe(expected);
  });
});

test("limit keys have one or two components", () => {
  expect(splitLimitKey("a")).toEqual({ l1: "a", l2: undefined });
  expect(splitLimitKey("a.b/c-d")).toEqual({ l1: "a.b", l2: "c-d" });
});
