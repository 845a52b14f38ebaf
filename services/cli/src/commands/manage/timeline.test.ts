import { describe, expect, test } from "@jest/globals";
import type { AdminClient, AttemptView, PhaseView, StepView, TimelineView } from "@perdure/admin-client";
import { TimelineFollower } from "./follow.js";
import { TerminalFrame } from "./frame.js";
import { lineOf } from "./timeline-event-line.js";
import { spanText, timelineLines } from "./timeline-lines.js";
import { GrowingTimeline } from "./timeline-pages.js";

const AT = (ms: number): string => new Date(Date.UTC(2026, 10, 21, 11) + ms).toISOString();
const style = { paint: (_style: string, text: string) => text };

function aPhase(phase: string, fromMs: number, toMs: number, waits_for: string | null = null): PhaseView {
  return { phase, waits_for, from: AT(fromMs), to: AT(toMs), duration_ms: toMs - fromMs, inferred: false };
}

function aStep(index: number, type: string, fromMs: number, toMs: number | null, more: Partial<StepView> = {}): StepView {
  return {
    index,
    type,
    name: "",
    subject: "",
    from: AT(fromMs),
    to: toMs === null ? null : AT(toMs),
    duration_ms: toMs === null ? null : toMs - fromMs,
    result: toMs === null ? "pending" : "success",
    failure: null,
    invocation_id: null,
    bytes: null,
    result_bytes: null,
    ...more,
  };
}

function anAttempt(number: number, message: string | null): AttemptView {
  const failure = message === null ? null : { code: 500, message, restate_code: "RT0007", doc: "", command: null };
  return {
    number,
    from: AT(0),
    to: AT(100),
    duration_ms: 100,
    deployment_id: null,
    outcome: message === null ? "running" : "failed",
    failure,
    inferred: false,
  };
}

function aTimeline(more: Partial<TimelineView>): TimelineView {
  return {
    id: "inv_1",
    target: "Orders/place",
    status: "running",
    from: AT(0),
    to: AT(1000),
    completed_at: null,
    wall_ms: 1000,
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

describe("a timeline in lines", () => {
  test("shows phases in proportion, attempts that failed, and steps with how long they took", () => {
    const timeline = aTimeline({
      totals_ms: { running: 250, suspended: 750, completed: 9000 },
      phases: [aPhase("running", 0, 250), aPhase("suspended", 250, 1000, "notification"), aPhase("completed", 1000, 10_000)],
      attempts: [anAttempt(1, "boom\nat line 3"), anAttempt(2, null)],
      steps: [
        aStep(0, "Input", 0, 0),
        aStep(1, "Run", 0, 120, { name: "charge" }),
        aStep(3, "Call", 120, null, { subject: "Stock/7/reserve", invocation_id: "inv_2" }),
        aStep(5, "Run", 200, 900, { name: "ship", result: "failure", failure: { code: 409, message: "gone" } }),
      ],
    });
    expect(timelineLines(timeline, style)).toEqual([
      `${"█".repeat(15)}${"▁".repeat(45)}`,
      "for 1.00s so far: suspended 750ms, running 250ms",
      "",
      "ATTEMPTS",
      "    1  failed 100ms: RT0007 [500] boom at line 3",
      "    2  running 100ms",
      "",
      "STEPS",
      "    0  ✔ Input 0ms",
      "    1  ✔ Run 'charge' 120ms",
      "    3  ● Call Stock/7/reserve … (inv_2)",
      "    5  ✘ Run 'ship' 700ms: [409] gone",
    ]);
  });

  test("keeps the last steps when there is no space, and counts the missing ones", () => {
    const steps = [0, 1, 2, 3].map((index) => aStep(index, "Run", index, index + 1, { name: `step ${index}` }));
    const lines = timelineLines(aTimeline({ steps, next_step: 4 }), { ...style, stepsMax: 2 });
    expect(lines.slice(4)).toEqual([
      "  … 2 before these",
      "    2  ✔ Run 'step 2' 1ms",
      "    3  ✔ Run 'step 3' 1ms",
      "  … and more",
    ]);
    expect(timelineLines(aTimeline({ journal_is_partial: true }), style).at(-1)).toBe("The journal is not kept.");
  });

  test("shows beginnings of payloads when they were requested", () => {
    const step = aStep(1, "Run", 0, 1, {
      payload: { text: '{"a":1}', cut: true },
      result_payload: { base64: "AP8=", cut: false },
    });
    expect(timelineLines(aTimeline({ steps: [step] }), style).slice(-2)).toEqual([
      '          in {"a":1}…',
      "          out AP8= (base64)",
    ]);
  });

  test("lets nothing that others wrote move the cursor or break a line", () => {
    const evil = "a\x1b[2Jb\r\nc\x07\x9bd";
    const step = aStep(1, "Run", 0, 1, { name: evil, subject: evil, result: "failure", failure: { code: 1, message: evil } });
    const text = timelineLines(aTimeline({ steps: [step], attempts: [anAttempt(1, evil)] }), style).join("");
    expect(text).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });

  test("a bar has its whole width whatever the phases are", () => {
    const phases = [aPhase("queued", 0, 1), aPhase("running", 1, 2), aPhase("suspended", 2, 100_000)];
    expect(timelineLines(aTimeline({ phases }), style)[0]).toHaveLength(60);
    expect(timelineLines(aTimeline({ phases: [] }), style)[0]).toBe("█");
  });

  test("spans are precise enough to compare", () => {
    expect([0, 999.4, 1520, 59_994, 184_000].map(spanText)).toEqual(["0ms", "999ms", "1.52s", "59.99s", "3m 4s"]);
  });
});

describe("following", () => {
  test("reports each event once, in the order of time, and requests only what may have changed", () => {
    const follower = new TimelineFollower();
    const linesOf = (timeline: TimelineView): readonly string[] =>
      follower.next(timeline).map((event) => lineOf(event, style).trim());
    const input = aStep(0, "Input", 0, 0);
    expect(linesOf(aTimeline({ phases: [aPhase("running", 0, 5)], steps: [input, aStep(1, "Sleep", 3, null)] }))).toEqual([
      "11:00:00.000     0  ✔ Input 0ms",
      "11:00:00.000 running",
      "11:00:00.003     1  ● Sleep",
    ]);
    expect(follower.fromStep).toBe(1);
    const phases = [aPhase("running", 0, 100), aPhase("backing_off", 100, 150, "retry")];
    expect(linesOf(aTimeline({ phases, attempts: [anAttempt(1, "boom")], steps: [aStep(1, "Sleep", 3, null)] }))).toEqual([
      "11:00:00.100 attempt 1 failed: RT0007 [500] boom",
      "11:00:00.100 backing off, waits for retry",
    ]);
    const end = {
      status: "completed",
      completed_at: AT(205),
      phases: [...phases, aPhase("completed", 205, 300)],
      attempts: [anAttempt(1, "boom")],
    };
    expect(linesOf(aTimeline({ ...end, steps: [aStep(1, "Sleep", 3, 200), aStep(3, "Output", 204, 204)] }))).toEqual([
      "11:00:00.200     1  ✔ Sleep 197ms",
      "11:00:00.204     3  ✔ Output 0ms",
      "11:00:00.205 completed",
    ]);
    expect(follower.hasEnded).toBe(true);
    expect(linesOf(aTimeline({ ...end, steps: [] }))).toEqual([]);
  });
});

test("a growing timeline requests completed steps once, and keeps the last", async () => {
  const requestedSteps: (number | undefined)[] = [];
  const answers = [
    aTimeline({ steps: [aStep(0, "Input", 0, 0), aStep(1, "Run", 0, 1), aStep(3, "Sleep", 1, null)] }),
    aTimeline({ steps: [aStep(3, "Sleep", 1, 9)] }),
    aTimeline({ status: "completed", steps: [aStep(5, "Output", 9, 9)] }),
  ];
  const timeline = async (_id: string, { fromStep }: { fromStep?: number }): Promise<TimelineView> => {
    requestedSteps.push(fromStep);
    return answers.shift() ?? aTimeline({});
  };
  const growing = new GrowingTimeline({ invocations: { timeline } } as unknown as AdminClient, "inv_1", 3);
  const context = { signal: new AbortController().signal };
  const timelines = [await growing.poll(context), await growing.poll(context), await growing.poll(context)];
  expect(requestedSteps).toEqual([0, 3, 4]);
  expect(timelines.map(({ steps }) => steps.map(({ index, result }) => `${index} ${result}`))).toEqual([
    ["0 success", "1 success", "3 pending"],
    ["0 success", "1 success", "3 success"],
    ["1 success", "3 success", "5 success"],
  ]);
});

describe("a frame", () => {
  test("is drawn over the one before, cut to the terminal, and not when nothing changed", () => {
    const written: string[] = [];
    const frame = new TerminalFrame({ write: (text) => written.push(text), columns: 5, rows: 10 });
    frame.show(["abcdefgh", "x"]);
    frame.show(["abcdefgh", "x"]);
    frame.show(["y"]);
    frame.end();
    expect(written).toEqual(["\x1b[?25l", "\r\x1b[2Kabcd…\x1b[0m\n\x1b[2Kx\n\x1b[J", "\x1b[2A\r\x1b[2Ky\n\x1b[J", "\x1b[?25h"]);
  });

  test("keeps its first line and its last ones when the terminal is too low", () => {
    const written: string[] = [];
    new TerminalFrame({ write: (text) => written.push(text), columns: 5, rows: 5 }).show(["a", "b", "c", "d", "e"]);
    expect(written.at(-1)).toBe("\r\x1b[2Ka\n\x1b[2K…\n\x1b[2Kd\n\x1b[2Ke\n\x1b[J");
  });

  test("colours take no columns", () => {
    const written: string[] = [];
    const lines = ["\x1b[31mabc\x1b[39m", "\x1b[31mabcd\x1b[39m"];
    new TerminalFrame({ write: (text) => written.push(text), columns: 3, rows: 5 }).show(lines);
    expect(written.at(-1)).toBe("\r\x1b[2K\x1b[31mabc\x1b[39m\n\x1b[2K\x1b[31mab…\x1b[0m\n\x1b[J");
  });
});
