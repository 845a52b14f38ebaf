import { describe, expect, test } from "@jest/globals";
import type { TimelineView } from "@perdure/admin-client";
import fc from "fast-check";
import {
  clipped,
  entryOfCommand,
  type InvocationTimeline,
  lengthOf,
  phaseText,
  readTimeline,
  stepText,
  type TimeSpan,
} from "./invocation-timeline.js";
import { ATTEMPT_ROWS_MAX, DEPTH_MAX } from "./limits.js";
import {
  foldedCalls,
  panned,
  placeOf,
  type RowsOptions,
  rowsOf,
  selected,
  type TimelineChild,
  ticksOf,
  unfoldedChildIds,
  zoomed,
} from "./timeline-layout.js";

const ORIGIN_MS = Date.parse("2026-11-22T01:00:00.000Z");
const at = (ms: number) => `${new Date(ORIGIN_MS + ms).toISOString().slice(0, -1)}000000Z`;

function aView(changes: Partial<TimelineView> & { readonly length?: number } = {}): TimelineView {
  const { length = 1_000, ...more } = changes;
  return {
    id: "inv_root",
    target: "Orders/place",
    status: "completed",
    from: at(0),
    to: at(length + 60_000),
    completed_at: at(length),
    wall_ms: length + 60_000,
    totals_ms: {},
    phases: [],
    attempts: [],
    attempts_may_be_missing: false,
    steps: [],
    next_step: null,
    journal_is_partial: false,
    ...more,
  };
}

function aPhase(phase: string, from: number, to: number, waits_for: string | null = null): TimelineView["phases"][number] {
  return { phase, waits_for, from: at(from), to: at(to), duration_ms: to - from, inferred: false };
}

function aStep(index: number, from: number, to: number | null, changes: Partial<TimelineView["steps"][number]> = {}) {
  return {
    index,
    type: "Run",
    name: "pack it",
    subject: "",
    from: at(from),
    to: to === null ? null : at(to),
    duration_ms: to === null ? null : to - from,
    result: to === null ? ("pending" as const) : ("success" as const),
    failure: null,
    invocation_id: null,
    bytes: null,
    result_bytes: null,
    ...changes,
  };
}

function anAttempt(number: number, from: number | null, to: number | null, outcome = "failed"): TimelineView["attempts"][number] {
  const time = (ms: number | null) => (ms === null ? null : at(ms));
  return {
    number,
    from: time(from),
    to: time(to),
    duration_ms: null,
    deployment_id: "dp_1",
    outcome,
    failure: outcome === "failed" ? { code: 500, message: "no", restate_code: "RT0007", doc: "", command: null } : null,
    inferred: false,
  };
}

const timelineOf = (view: TimelineView): InvocationTimeline => readTimeline([view], view);

const anyTime = fc.integer({ min: -500, max: 3_000 });
const anyPhase = fc
  .tuple(
    fc.constantFrom("delayed", "queued", "running", "suspended", "backing_off", "paused", "completed", "invented"),
    anyTime,
    anyTime,
  )
  .map(([phase, from, to]) => aPhase(phase, from, to));
const anyStep = fc.tuple(fc.nat(5_000), anyTime, fc.option(anyTime)).map(([index, from, to]) => aStep(index, from, to));
const anyAttempt = fc
  .tuple(fc.nat(100), fc.option(anyTime), fc.option(anyTime))
  .map(([number, from, to]) => anAttempt(number, from, to));
const anyView = fc
  .record({
    length: fc.integer({ min: 0, max: 2_000 }),
    phases: fc.array(anyPhase, { maxLength: 12 }),
    steps: fc.uniqueArray(anyStep, { maxLength: 12, selector: ({ index }) => index }),
    attempts: fc.uniqueArray(anyAttempt, { maxLength: 8, selector: ({ number }) => number }),
  })
  .map(aView);

const isWithin = ({ fromMs, toMs }: TimeSpan, bounds: TimeSpan) =>
  bounds.fromMs <= fromMs && fromMs <= toMs && toMs <= bounds.toMs;

describe("a timeline", () => {
  test("has phases that add up to it exactly, whatever the server returns", () => {
    fc.assert(
      fc.property(anyView, (view) => {
        const { span, phases, sums } = timelineOf(view);
        let cursor = span.fromMs;
        for (const phase of phases) {
          expect(phase.fromMs).toBe(cursor);
          expect(lengthOf(phase)).toBeGreaterThan(0);
          cursor = phase.toMs;
        }
        expect(cursor).toBe(span.toMs);
        expect(sums.reduce((total, { ms }) => total + ms, 0)).toBe(lengthOf(span));
      }),
    );
  });

  test("holds nothing that is negative or beyond its ends", () => {
    fc.assert(
      fc.property(anyView, (view) => {
        const { span, steps, attempts } = timelineOf(view);
        for (const each of [...steps, ...attempts]) expect(isWithin(each, span)).toBe(true);
      }),
    );
  });

  test("ends when it is completed, not when it is read", () => {
    const timeline = timelineOf(aView({ length: 67, phases: [aPhase("running", 0, 67), aPhase("completed", 67, 60_067)] }));
    expect(lengthOf(timeline.span)).toBe(67);
    expect(timeline.sums).toEqual([{ phase: "running", ms: 67, share: 1 }]);
  });

  test("of an unfinished invocation ends now, and so do its open steps", () => {
    const timeline = timelineOf(aView({ completed_at: null, to: at(500), steps: [aStep(1, 100, null)] }));
    expect(timeline.isDone).toBe(false);
    expect(lengthOf(timeline.span)).toBe(500);
    expect(lengthOf(timeline.steps[0]!)).toBe(400);
  });

  test("marks time without an explanation as unknown", () => {
    const timeline = timelineOf(aView({ length: 100, phases: [aPhase("queued", 0, 20, "lock"), aPhase("running", 50, 100)] }));
    expect(timeline.phases.map(({ phase }) => phase)).toEqual(["queued", "unknown", "running"]);
    expect(phaseText(timeline.phases[0]!)).toBe("waiting for its object, 20 ms");
  });

  test("puts the pages of a long journal together", () => {
    const first = aView({ steps: [aStep(1, 0, 1)], next_step: 2 });
    const second = aView({ steps: [aStep(2, 1, 2)] });
    const timeline = readTimeline([first, second], second);
    expect(timeline.steps.map(({ index }) => index)).toEqual([1, 2]);
    expect(timeline.nextStep).toBeUndefined();
  });

  test("finds the entry of a command, between whose entries are completions and signals", () => {
    const steps = [aStep(0, 0, 0, { type: "Input" }), aStep(2, 1, 1, { type: "Signal" }), aStep(3, 2, 3), aStep(6, 4, 5)];
    const timeline = timelineOf(aView({ steps }));
    expect([0, 1, 2, 3].map((command) => entryOfCommand(timeline, command))).toEqual([0, 3, 6, undefined]);
  });

  test("has a text for each bar", () => {
    const failed = aStep(3, 0, 120, { result: "failure", failure: { code: 402, message: "more than the card has" } });
    const timeline = timelineOf(
      aView({ steps: [aStep(1, 0, 120), aStep(2, 0, null, { type: "Call", name: "", subject: "Stock/lamp/take" }), failed] }),
    );
    expect(timeline.steps.map(stepText)).toEqual([
      "run 'pack it', 120 ms, succeeded",
      "call 'Stock/lamp/take', 1 s, pending",
      "run 'pack it', 120 ms, failed: more than the card has",
    ]);
  });
});

describe("rows", () => {
  const call = (index: number, child: string) =>
    aStep(index, 100, 900, { type: "Call", subject: "Stock/take", name: "", invocation_id: child });
  const root = timelineOf(aView({ steps: [aStep(0, 0, 0, { type: "Input" }), call(1, "inv_child"), aStep(4, 900, 950)] }));
  const none: ReadonlyMap<string, TimelineChild> = new Map();

  test("of a call that is folded are one", () => {
    const rows = rowsOf(root, { unfolded: new Set(), children: none });
    expect(rows.map(({ key }) => key)).toEqual(["phases", "0", "1", "4"]);
    expect(unfoldedChildIds(rows)).toEqual([]);
  });

  test("of a call that is unfolded hold the child's own, and request it first", () => {
    const unfolded = new Set(["1"]);
    const waiting = rowsOf(root, { unfolded, children: none });
    expect(unfoldedChildIds(waiting)).toEqual(["inv_child"]);
    expect(waiting.map(({ key }) => key)).toEqual(["phases", "0", "1", "1/note", "4"]);

    const child = timelineOf(aView({ id: "inv_child", steps: [call(2, "inv_grandchild")] }));
    const rows = rowsOf(root, { unfolded, children: new Map([["inv_child", { kind: "life", timeline: child }]]) });
    expect(rows.map(({ key, depth }) => `${depth} ${key}`)).toEqual(["0 phases", "0 0", "0 1", "1 1/phases", "1 1/2", "0 4"]);
  });

  test("of calls of one target are marked, so that their ids distinguish them", () => {
    const two = timelineOf(
      aView({ steps: [aStep(0, 0, 0, { type: "Input" }), call(1, "inv_a"), call(2, "inv_b"), aStep(3, 1, 2), aStep(4, 2, 3)] }),
    );
    const marked = (timeline: InvocationTimeline) =>
      rowsOf(timeline, { unfolded: new Set(), children: none }).flatMap((row) =>
        row.kind === "step" && row.isRepeatedCall ? [row.key] : [],
      );
    expect(marked(two)).toEqual(["1", "2"]);
    expect(marked(root)).toEqual([]);
  });

  test("of folded calls are found for one press that unfolds them, one level at a time", () => {
    expect(foldedCalls(rowsOf(root, { unfolded: new Set(), children: none }))).toEqual(["1"]);
    const child = timelineOf(aView({ id: "inv_child", steps: [call(2, "inv_grandchild")] }));
    const children = new Map<string, TimelineChild>([["inv_child", { kind: "life", timeline: child }]]);
    expect(foldedCalls(rowsOf(root, { unfolded: new Set(["1"]), children }))).toEqual(["1/2"]);
  });

  test("of a child that could not be read show why", () => {
    const children = new Map<string, TimelineChild>([["inv_child", { kind: "failed", message: "it is gone" }]]);
    const rows = rowsOf(root, { unfolded: new Set(["1"]), children });
    expect(rows.find(({ kind }) => kind === "note")).toMatchObject({ text: "it is gone", isProblem: true, depth: 1 });
  });

  test("of children stay within the root's time", () => {
    fc.assert(
      fc.property(anyView, anyView, (outer, inner) => {
        const parent = timelineOf({ ...outer, steps: [call(1, "inv_child")] });
        const child = timelineOf({ ...inner, id: "inv_child", next_step: 7 });
        const rows = rowsOf(parent, {
          unfolded: new Set(["1", "1/attempts"]),
          children: new Map([["inv_child", { kind: "life", timeline: child }]]),
        });
        for (const row of rows) {
          if (row.kind === "phases" || row.kind === "attempts")
            for (const bar of row.bars) expect(isWithin(bar, parent.span)).toBe(true);
          if (row.kind === "attempt" || row.kind === "step") expect(isWithin(row.bar, parent.span)).toBe(true);
        }
        expect(rows.at(-1)).toMatchObject({ kind: "more", key: "1/more", nextStep: 7 });
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });

  test("never go round in circles, and no deeper than the bound", () => {
    const self = timelineOf(aView({ steps: [call(1, "inv_root")] }));
    expect(rowsOf(self, { unfolded: new Set(["1"]), children: none }).at(-1)).toMatchObject({ kind: "step", childId: undefined });

    const children = new Map<string, TimelineChild>();
    const unfolded = new Set<string>();
    for (let depth = 1, key = "1"; depth <= DEPTH_MAX + 4; depth++, key += "/1") {
      const timeline = timelineOf(aView({ id: `inv_${depth}`, steps: [call(1, `inv_${depth + 1}`)] }));
      children.set(`inv_${depth}`, { kind: "life", timeline });
      unfolded.add(key);
    }
    const rows = rowsOf(timelineOf(aView({ steps: [call(1, "inv_1")] })), { unfolded, children });
    expect(Math.max(...rows.map(({ depth }) => depth))).toBe(DEPTH_MAX - 1);
  });

  test("of attempts are one each, until there are many", () => {
    const few = timelineOf(aView({ attempts: [anAttempt(1, 0, 10), anAttempt(2, 20, 30)] }));
    expect(rowsOf(few, { unfolded: new Set(), children: none }).map(({ kind }) => kind)).toEqual([
      "phases",
      "attempt",
      "attempt",
    ]);

    const attempts = Array.from({ length: ATTEMPT_ROWS_MAX + 1 }, (_, index) => anAttempt(index + 1, null, index * 10));
    const many = timelineOf(aView({ attempts }));
    expect(rowsOf(many, { unfolded: new Set(), children: none }).map(({ kind }) => kind)).toEqual(["phases", "attempts"]);
    expect(rowsOf(many, { unfolded: new Set(["attempts"]), children: none })).toHaveLength(2 + attempts.length);
  });

  test("of a compact timeline leave out a sole attempt", () => {
    const timeline = timelineOf(aView({ attempts: [anAttempt(1, 0, 10, "completed")] }));
    expect(rowsOf(timeline, { unfolded: new Set(), children: none, isCompact: true })).toHaveLength(1);
  });
});

describe("rows of long runs", () => {
  const steps = Array.from({ length: 30 }, (_, i) => aStep(i, i, i + 1, { name: i === 29 ? "report" : `page ${i}` }));
  const timeline = timelineOf(aView({ steps }));
  const children = new Map<string, TimelineChild>();
  const keysOf = (options: Partial<RowsOptions>) =>
    rowsOf(timeline, { unfolded: new Set(), children, ...options }).map(({ key }) => key);

  test("fold like steps into one row, which unfolds", () => {
    expect(keysOf({ isGrouped: true })).toEqual(["phases", "group-0", "29"]);
    expect(keysOf({ isGrouped: true, unfolded: new Set(["group-0"]) })).toHaveLength(32);
    expect(keysOf({})).toHaveLength(31);
  });

  test("show the step that is chosen, although its group is folded", () => {
    expect(keysOf({ isGrouped: true, shown: 7 })).toContain("7");
  });

  test("show only the steps that are searched for", () => {
    expect(keysOf({ isGrouped: true, search: "report" })).toEqual(["phases", "29"]);
  });

  test("end with what the invocation waits for", () => {
    const wait = { kind: "signal", name: "go", fromMs: 0, toMs: 1, startsInMs: undefined } as const;
    expect(keysOf({ isGrouped: true, waits: [wait] }).at(-1)).toBe("wait-signal-go");
  });
});

describe("places", () => {
  const window = { fromMs: 0, toMs: 1_000 };

  test("are parts of the window", () => {
    expect(placeOf({ fromMs: 250, toMs: 750 }, window)).toEqual({ left: 25, width: 50 });
    expect(placeOf({ fromMs: -250, toMs: 100 }, window)).toEqual({ left: 0, width: 10 });
    expect(placeOf({ fromMs: 500, toMs: 500 }, window)).toEqual({ left: 50, width: 0 });
    expect(placeOf({ fromMs: 1_001, toMs: 1_002 }, window)).toBeUndefined();
  });

  test("never reach beyond it", () => {
    fc.assert(
      fc.property(anyTime, anyTime, anyTime, anyTime, (a, b, c, d) => {
        const span = { fromMs: Math.min(a, b), toMs: Math.max(a, b) };
        const place = placeOf(span, { fromMs: Math.min(c, d), toMs: Math.max(c, d) });
        if (place === undefined) return;
        expect(place.left).toBeGreaterThanOrEqual(0);
        expect(place.width).toBeGreaterThanOrEqual(0);
        expect(place.left + place.width).toBeLessThanOrEqual(100);
      }),
    );
  });

  test("of ticks are round and few", () => {
    expect(ticksOf(window, 0, 6).map(({ offsetMs }) => offsetMs)).toEqual([0, 200, 400, 600, 800, 1_000]);
    expect(ticksOf({ fromMs: 0, toMs: 90_000 }, 0, 6).map(({ offsetMs }) => offsetMs)).toEqual([0, 30_000, 60_000, 90_000]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), fc.integer({ min: 0, max: 10 ** 12 }), (from, length) => {
        const ticks = ticksOf({ fromMs: from, toMs: from + length }, 0, 8);
        expect(ticks.length).toBeLessThanOrEqual(8);
        for (const { left } of ticks) expect(left >= 0 && left <= 100.000001).toBe(true);
      }),
    );
  });
});

describe("zooming", () => {
  const whole = { fromMs: 0, toMs: 1_000 };

  test("in halves the window around its middle, out ends at the whole", () => {
    const near = zoomed(undefined, whole, 0.5);
    expect(near).toEqual({ fromMs: 250, toMs: 750 });
    expect(zoomed(near, whole, 2)).toBeUndefined();
  });

  test("and moving stay within the whole", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 3, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: -3, max: 3, noNaN: true }),
        (factor, at, by) => {
          const window = panned(zoomed(undefined, whole, factor, at), whole, by);
          if (window === undefined) return;
          expect(window.fromMs).toBeGreaterThanOrEqual(0);
          expect(window.toMs).toBeLessThanOrEqual(1_000.000001);
          expect(lengthOf(window)).toBeGreaterThan(0.999);
        },
      ),
    );
  });

  test("to a drawn range works from either side; a click is not a range", () => {
    expect(selected(whole, whole, 0.75, 0.25)).toEqual({ fromMs: 250, toMs: 750 });
    expect(selected(whole, whole, 0.5, 0.501)).toBeUndefined();
  });
});

test("clipping keeps what has no length where it is", () => {
  expect(clipped({ fromMs: 5, toMs: 5 }, { fromMs: 0, toMs: 10 })).toEqual({ fromMs: 5, toMs: 5 });
  expect(clipped({ fromMs: 50, toMs: 5 }, { fromMs: 0, toMs: 10 })).toEqual({ fromMs: 10, toMs: 10 });
});
