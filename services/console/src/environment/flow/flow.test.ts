import { describe, expect, test } from "@jest/globals";
import { queueHref, queueOf, rulesOf, scopeHref, usageOf } from "./flow-rows.js";
import { ruleChange, ruleFields, ruleProblems, ruleTurned } from "./rule-form.js";

const [rule] = rulesOf(
  [{ pattern: "acme/*", concurrency: 2, disabled: false, version: 3, description: "tenants" }],
  [{ pattern: "acme/*", rate_limit: 100, rate_period: "PT60S", burst: 10, weight: 3 }],
);
if (rule === undefined) throw new Error("no rule");

describe("rules", () => {
  test("are put together from both relations", () => {
    expect(rule).toEqual({
      pattern: "acme/*",
      concurrency: 2,
      rate: { limit: 100, perMs: 60_000, burst: 10 },
      weight: 3,
      priority: undefined,
      description: "tenants",
      isDisabled: false,
      version: 3,
    });
  });

  test("a change has all fields of the form, and the version that it is based on", () => {
    expect(ruleChange({ ...ruleFields(rule), concurrency: "", weight: "" }, rule)).toEqual({
      pattern: "acme/*",
      limits: { concurrency: null, rate: { limit: 100, per: "60000ms", burst: 10 } },
      description: "tenants",
      disabled: false,
      weight: null,
      priority: null,
      precondition: { type: "matches", version: 3 },
    });
    expect(ruleChange(ruleFields(undefined), undefined).precondition).toEqual({ type: "does_not_exist" });
  });

  test("turning one off leaves rate, weight and priority unsaid: they stay", () => {
    expect(ruleTurned(rule)).toEqual({
      pattern: "acme/*",
      limits: { concurrency: 2 },
      description: "tenants",
      disabled: true,
      precondition: { type: "matches", version: 3 },
    });
  });

  test("errors are reported by field", () => {
    expect(ruleProblems(ruleFields(rule))).toEqual({});
    expect(Object.keys(ruleProblems({ ...ruleFields(rule), pattern: "a//b", priority: "6", burst: "x" }))).toEqual([
      "pattern",
      "burst",
      "priority",
    ]);
  });
});

test("what is used of a scope or key leads to its invocations", () => {
  const usage = usageOf({ scope: "acme", l1: "t1", l2: "u", usage: 1, num_waiters: 2 });
  expect(usage).toMatchObject({ limitKey: "t1/u", running: 1, limit: undefined, waiting: 2 });
  expect(scopeHref(usage)).toBe("/invocations?scope=acme&limit-key=t1%2Fu");
  expect(scopeHref({ scope: "acme", limitKey: "" })).toBe("/invocations?scope=acme");
});

test("a queue shows what its head waits for", () => {
  const blocked_on_json = '{"resource":"limit-key-concurrency","scope":"acme","blocked_rule":"acme"}';
  expect(
    queueOf({ id: "vq_1", scope: "acme", limit_key: "t1", num_inbox: 2, blocked_on: "limit-key-concurrency", blocked_on_json }),
  ).toMatchObject({
    what: "acme/t1",
    waiting: 2,
    isPaused: false,
    blockedOn: "a limit (rule acme)",
  });
  expect(queueOf({ id: "vq_1", lock_name: "Stock/lamp", queue_is_paused: true })).toMatchObject({
    what: "Stock/lamp",
    isPaused: true,
  });
  expect(queueHref("vq_1' OR 1=1")).toBe("/invocations?where=vqueue_id+%3D+%27vq_1OR11%27");
});

test("durations of SQL are read", () => {
  const perMs = (period?: string) =>
    rulesOf([{ pattern: "a" }], [{ pattern: "a", rate_limit: 1, ...(period === undefined ? {} : { rate_period: period }) }])[0]
      ?.rate?.perMs;
  expect([perMs("PT60S"), perMs("PT0.5S"), perMs("P0D"), perMs()]).toEqual([60_000, 500, undefined, undefined]);
});
