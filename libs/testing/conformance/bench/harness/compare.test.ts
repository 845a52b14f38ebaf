import { describe, expect, test } from "@jest/globals";
import { compare, hasGrown } from "./compare.js";
import type { ServerKind } from "./kinds.js";
import { type BenchRecord, newRecord, parseRecord } from "./record.js";

const HERE = { cpus: 2, model: "A", memoryGiB: 8, kernel: "6" };
const ELSEWHERE = { ...HERE, model: "B" };

/** A run of one row; values are CPU of the rounds. */
function aRun(servers: Partial<Record<ServerKind, readonly number[]>>, changed: Partial<BenchRecord> = {}): BenchRecord {
  const rounds = Object.entries(servers).map(([kind, values]) => [kind, { rounds: values.map((cpuUs) => ({ cpuUs })) }]);
  const figures = { cpuUs: { title: "CPU", unit: "µs", isCpu: true }, p50: { title: "p50", unit: "ms" } };
  const row = {
    name: "noop-64",
    title: "",
    endpoint: "rust" as const,
    figures,
    servers: Object.fromEntries(rounds),
    othersShare: 0,
    load: 0,
  };
  const facts = {
    startedAt: "2026-11-26",
    commit: "abc",
    machine: HERE,
    versions: {},
    seconds: 8,
    isShort: false,
    othersShare: 0,
    load: 0,
  };
  return newRecord({ ...facts, rows: [row], ...changed });
}

describe("comparing a run with records", () => {
  test("on the same machine the least CPU of the rounds is compared", () => {
    const [compared, ...more] = compare(aRun({ perdure: [150, 109, 300] }), [aRun({ perdure: [100, 250, 120] })]);
    expect(more).toEqual([]);
    expect(compared).toMatchObject({ row: "noop-64", figure: "CPU", commit: "abc", then: 100, now: 109 });
    expect(compared && hasGrown(compared)).toBe(false);
  });

  test("more than a tenth is too much", () => {
    const [compared] = compare(aRun({ perdure: [111] }), [aRun({ perdure: [100] })]);
    expect(compared?.growth).toBeCloseTo(0.11);
    expect(compared && hasGrown(compared)).toBe(true);
  });

  test("the newest record that has the row counts", () => {
    const records = [
      aRun({}, { commit: "newest, without the row", rows: [] }),
      aRun({ perdure: [200] }, { commit: "new" }),
      aRun({ perdure: [100] }, { commit: "old" }),
    ];
    expect(compare(aRun({ perdure: [200] }), records)).toMatchObject([{ commit: "new", then: 200 }]);
  });

  test("with records of another machine the ratios to the reference are compared", () => {
    const record = aRun({ perdure: [100], reference: [400] }, { machine: ELSEWHERE });
    expect(compare(aRun({ perdure: [300], reference: [1_000] }), [record])).toMatchObject([{ then: 0.25, now: 0.3 }]);
  });

  test("without a record to compare with the growth is unknown, which is not a failure", () => {
    const record = aRun({ perdure: [100] }, { machine: ELSEWHERE });
    const [compared] = compare(aRun({ perdure: [300] }), [record]);
    expect(compared).toMatchObject({ commit: undefined, growth: undefined });
    expect(compared && hasGrown(compared)).toBe(false);
  });

  test("a row that failed is not compared", () => {
    expect(compare(aRun({ perdure: [] }), [aRun({ perdure: [100] })])).toEqual([]);
  });
});

test("a record of another format is refused", () => {
  expect(() => parseRecord('{"format":2,"rows":[]}', "x.json")).toThrow("x.json has the format 2; this build reads 1");
  expect(() => parseRecord("[]", "x.json")).toThrow("x.json is not a record of a benchmark");
});
