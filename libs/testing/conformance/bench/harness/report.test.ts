import { expect, test } from "@jest/globals";
import { newRecord, type RecordedRow } from "./record.js";
import { report } from "./report.js";

const MACHINE = { cpus: 2, model: "A", memoryGiB: 8, kernel: "6" };
const FACTS = { startedAt: "2026-11-26", commit: "abc", machine: MACHINE, versions: {}, seconds: 8, isShort: false, load: 0 };

function aRow(changed: Partial<RecordedRow>): RecordedRow {
  const figures = { p50: { title: "p50", unit: "ms", goal: { of: "ratio", is: "at most", limit: 0.5 } as const } };
  return { name: "noop-1", title: "no-op", endpoint: "rust", figures, servers: {}, othersShare: 0, load: 0, ...changed };
}

test("a line has medians, the ratio and whether the goal is reached, with the cheap endpoint first", () => {
  const rust = { perdure: { rounds: [{ p50: 1 }, { p50: 9 }, { p50: 2 }] }, reference: { rounds: [{ p50: 5 }] } };
  const typescript = { perdure: { rounds: [{ p50: 3 }] }, reference: { rounds: [{ p50: 4 }] } };
  const rows = [aRow({ servers: rust }), aRow({ endpoint: "typescript", servers: typescript, othersShare: 0.2 })];
  const lines = report(newRecord({ ...FACTS, othersShare: 0, rows })).split("\n");
  expect(lines).toContain(
    "| Work | Perdure, Rust | Reference, Rust | Ratio | Goal | Reached | Perdure, TypeScript | Reference, TypeScript | Ratio | Other work |",
  );
  expect(lines).toContain("| noop-1: no-op: p50, ms | 2.00 | 5.00 | 0.40 | ≤ 0.5× | yes | 3.00 | 4.00 | 0.75 | 20 % |");
});

test("a failure is listed, and its figures are missing", () => {
  const rows = [
    aRow({ servers: { perdure: { rounds: [{ p50: 1 }] }, reference: { rounds: [], failure: "not done within 9 s" } } }),
  ];
  const text = report(newRecord({ ...FACTS, othersShare: 0, rows }));
  expect(text).toContain("| noop-1: no-op: p50, ms | 1.00 | – | – | ≤ 0.5× | – | 0 % |");
  expect(text).toContain("- noop-1, reference, rust endpoint: not done within 9 s");
});

test("a machine that does other work is named as such", () => {
  const of = (othersShare: number): string => report(newRecord({ ...FACTS, othersShare, rows: [] }));
  expect(of(0.3)).toContain("**The machine was not quiet**: other processes used 30 %");
  expect(of(0.04)).not.toContain("not quiet");
});
