import { expect, test } from "@jest/globals";
import type { ExplanationView } from "@perdure/admin-client";
import type { InvocationTimeline } from "./invocation-timeline.js";
import { WAITS_SHOWN_MAX } from "./limits.js";
import { pendingWaitsOf } from "./pending-waits.js";

const NOW = Date.parse("2026-11-26T08:00:00.000Z");
const at = (ms: number) => new Date(NOW + ms).toISOString();
const TIMELINE = { isDone: false, span: { fromMs: NOW - 60_000, toMs: NOW + 500 } } as InvocationTimeline;

const explained = (waits_for: Record<string, unknown>): ExplanationView =>
  ({ at: at(0), since: at(-10_000), waits_for }) as unknown as ExplanationView;

test("awaited awakeables and signals have rows that end now; what has a step of its own has none", () => {
  const awaiting = {
    wants: "any",
    of: [
      { kind: "cancellation" },
      {
        wants: "all",
        of: [
          { kind: "awakeable", id: "sign_1abc" },
          { kind: "signal", name: "go" },
          { kind: "timer", index: 4 },
        ],
      },
    ],
  };
  const span = { fromMs: NOW - 10_000, toMs: NOW + 500, startsInMs: undefined };
  expect(pendingWaitsOf(explained({ kind: "future", awaiting }), TIMELINE)).toEqual([
    { ...span, kind: "awakeable", name: "sign_1abc" },
    { ...span, kind: "signal", name: "go" },
  ]);
});

test("a running handler's open awakeables are shown once", () => {
  const leaf = { kind: "awakeable", id: "sign_1abc" };
  const waits = pendingWaitsOf(explained({ kind: "future", awaiting: { of: [leaf] }, open: [leaf] }), TIMELINE);
  expect(waits.map(({ name }) => name)).toEqual(["sign_1abc"]);
});

test("the next attempt has a row with its start", () => {
  expect(pendingWaitsOf(explained({ kind: "retry", attempts: 3, next_at: at(3_900) }), TIMELINE)).toMatchObject([
    { kind: "retry", name: "4", startsInMs: 3_900 },
  ]);
  expect(pendingWaitsOf(explained({ kind: "retry", attempts: 3, next_at: null }), TIMELINE)).toMatchObject([
    { startsInMs: undefined },
  ]);
});

test("nothing is awaited by what is completed, and rows are bounded", () => {
  const of = Array.from({ length: 50 }, (_, i) => ({ kind: "signal", name: `s${i}` }));
  expect(pendingWaitsOf(explained({ kind: "future", awaiting: { of } }), { ...TIMELINE, isDone: true })).toEqual([]);
  expect(pendingWaitsOf(explained({ kind: "future", awaiting: { of } }), TIMELINE)).toHaveLength(WAITS_SHOWN_MAX);
  expect(pendingWaitsOf(explained({ kind: "delayed_start" }), TIMELINE)).toEqual([]);
});
