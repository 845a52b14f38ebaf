import { expect, test } from "@jest/globals";
import type { FlowBucketRow, FlowLimitRow } from "@perdure/flow-control";
import { LimitSaturation } from "./saturation.js";

function aLimit(change: Partial<FlowLimitRow> = {}): FlowLimitRow {
  return {
    partitionKey: 1n,
    scope: "acme",
    l1: undefined,
    l2: undefined,
    level: "Scope",
    usage: 2,
    limit: 2,
    rule: "acme",
    waiterCount: 1,
    ...change,
  };
}
const EMPTY: FlowBucketRow = {
  partitionKey: 1n,
  scope: "acme",
  l1: "gold",
  l2: undefined,
  rule: "*/gold",
  rate: { limit: 10, periodMs: 1_000, burst: 1 },
  available: 0,
};

function begunAfter(checks: number, limit: FlowLimitRow, buckets: readonly FlowBucketRow[] = []) {
  const saturation = new LimitSaturation(60_000);
  const findings = Array.from({ length: checks }, (_, index) => saturation.check([limit], buckets, [], index * 10_000));
  return findings.flatMap(({ begun }) => begun);
}

test("a limit is saturated when every check of the time finds it full with waiting invocations", () => {
  expect(begunAfter(6, aLimit())).toEqual([]);
  expect(begunAfter(7, aLimit())).toMatchObject([
    { subject: "acme", about: { scope: "acme" }, data: { rule: "acme", running: 2, concurrency: 2, saturated_for_ms: 60_000 } },
  ]);
  expect(begunAfter(20, aLimit({ waiterCount: 0 }))).toEqual([]);
  expect(begunAfter(20, aLimit({ usage: 1 }))).toEqual([]);
});

test("an empty bucket with waiting invocations is a saturated rate", () => {
  const limit = aLimit({ l1: "gold", limit: undefined, rule: undefined });
  expect(begunAfter(7, limit, [EMPTY])).toMatchObject([
    { subject: "acme/gold", data: { limit_key: "gold", rule: "*/gold", rate: { limit: 10, period_ms: 1_000 } } },
  ]);
  expect(begunAfter(20, limit, [{ ...EMPTY, available: 1 }])).toEqual([]);
});

test("one check that does not find it begins the time again", () => {
  const saturation = new LimitSaturation(20_000);
  const rows = [aLimit(), aLimit(), aLimit({ waiterCount: 0 }), aLimit(), aLimit()];
  const findings = rows.map((row, index) => saturation.check([row], [], [], index * 10_000));
  expect(findings.flatMap(({ begun }) => begun)).toEqual([]);
});

test("a reported limit is over when two checks in a row do not find it", () => {
  const saturation = new LimitSaturation(60_000);
  const reported = [{ subject: "acme" }];
  const check = (row: FlowLimitRow, atMs: number) => saturation.check([row], [], reported, atMs);
  expect(check(aLimit({ usage: 0 }), 0).over.size).toBe(0);
  expect(check(aLimit(), 10_000)).toMatchObject({ begun: [] });
  expect(check(aLimit({ usage: 0 }), 20_000).over.size).toBe(0);
  expect(check(aLimit({ usage: 0 }), 30_000).over.get("acme")).toEqual({ limit: "acme" });
});
