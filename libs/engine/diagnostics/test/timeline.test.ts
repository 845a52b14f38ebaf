/** The phases of an invocation add up to its wall time in every history, and phases that are not marked as inferred are true. */
import { describe, expect, test } from "@jest/globals";
import { encodeCompletion, MessageType } from "@perdure/service-protocol";
import { type Invocation, type JournalEvent, MOVES_KEPT_MAX } from "@perdure/state-machine";
import { anInvocation, SOME_ERROR, someFacts } from "@perdure/state-machine/testing";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import { type InvocationPhase, type InvocationSnapshot, type PhaseSegment, type Timeline, timelineOf } from "../src/index.js";
import { PlayedHistory, type Truth } from "./history.js";

const SEEDS = 150;
const STEPS = 60;
const IDLE_MS = [undefined, 0, 300] as const;

/** Plain comparisons, because this runs some hundred thousand times. */
function expectWhole(timeline: Timeline): void {
  const { segments, totals, fromMs, toMs, attempts } = timeline;
  let cursor = fromMs;
  let isWhole = true;
  for (const segment of segments) {
    isWhole &&= segment.fromMs === cursor && segment.toMs > segment.fromMs;
    cursor = segment.toMs;
  }
  isWhole &&= segments.length === 0 || cursor === toMs;
  isWhole &&= Object.values(totals).reduce((sum, each) => sum + each, 0) === toMs - fromMs;
  isWhole &&= attempts.every(({ startedAtMs, endedAtMs }) => (endedAtMs ?? toMs) >= (startedAtMs ?? fromMs));
  if (!isWhole) throw new Error(`does not add up: ${JSON.stringify(timeline)}`);
}

/** Recorded phases within a segment; empty stretches do not count. */
function phasesWithin(truth: readonly Truth[], { fromMs, toMs }: PhaseSegment): ReadonlySet<InvocationPhase> {
  const phases = new Set<InvocationPhase>();
  for (const [index, { phase, fromMs: from }] of truth.entries()) {
    const to = truth[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
    if (Math.min(to, toMs) > Math.max(from, fromMs)) phases.add(phase);
  }
  return phases;
}

/** Phases that are not inferred must match the record. */
function expectTrue(truth: readonly Truth[], { segments }: Timeline, where: string): void {
  for (const segment of segments) {
    if (segment.inferred) continue;
    const really = phasesWithin(truth, segment);
    if (really.size === 1 && really.has(segment.phase)) continue;
    throw new Error(
      `${where}: ${segment.phase} ${segment.fromMs}–${segment.toMs} was ${[...really]}\n` +
        `${JSON.stringify(truth)}\n${JSON.stringify(segments)}`,
    );
  }
}

describe("a history run through the core", () => {
  test(`adds up at every moment, and is true where it is not inferred (${SEEDS} histories)`, () => {
    const covered = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new SeededRandom(seed);
      const history = new PlayedHistory(random);
      for (let step = 0; step < STEPS; step++) {
        history.step();
        const nowMs = history.partition.nowMs + random.below(50);
        history.partition.nowMs = nowMs;
        const timeline = timelineOf(history.snapshot, nowMs, IDLE_MS[seed % IDLE_MS.length]);
        expectWhole(timeline);
        for (const { phase, inferred } of timeline.segments) covered.add(`${phase}${inferred ? "?" : ""}`);
        expectTrue(history.truth, timeline, `seed ${seed}, step ${step}`);
      }
    }
    // Otherwise the histories would prove little.
    for (const phase of ["delayed", "queued", "running", "backingOff", "suspended", "paused", "completed"]) {
      expect(covered).toContain(phase);
    }
  });

  test("a history without failures needs no inference, however often it stops, up to a bound", () => {
    const covered = new Set<string>();
    let runsMost = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const history = new PlayedHistory(new SeededRandom(seed));
      for (let step = 0; step < STEPS; step++) {
        history.step();
        const { invocation, truth } = history;
        const movesMade =
          truth.filter(({ phase }) => phase === "suspended" || phase === "paused").length +
          2 * truth.filter(({ phase }) => phase === "queued").length +
          invocation.run -
          1;
        if (history.snapshot.events.some(({ kind }) => kind !== "paused") || movesMade > MOVES_KEPT_MAX) break;
        const { segments } = timelineOf(history.snapshot, history.partition.nowMs, undefined);
        expect(segments.filter(({ inferred }) => inferred)).toEqual([]);
        for (const { phase } of segments) covered.add(phase);
        runsMost = Math.max(runsMost, invocation.run);
      }
    }
    expect(covered).toEqual(new Set(["delayed", "queued", "running", "suspended", "completed"]));
    expect(runsMost).toBeGreaterThan(4);
  });

  test("rows of a server that stored no moves give the best possible timeline", () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const history = new PlayedHistory(new SeededRandom(seed), false);
      for (let step = 0; step < STEPS; step++) {
        history.step();
        const { snapshot } = history;
        const invocation = { ...snapshot.invocation, milestones: { ...snapshot.invocation.milestones, moves: undefined } };
        const timeline = timelineOf({ ...snapshot, invocation }, history.partition.nowMs, undefined);
        expectWhole(timeline);
        expectTrue(history.truth, timeline, `seed ${seed}, step ${step}`);
      }
    }
  });
});

describe("whatever is stored", () => {
  const time = fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.constantFrom(0, 1_000, 1_000_000_000_000));
  const maybeTime = fc.option(time, { nil: undefined });
  const entry = fc.record({
    type: fc.constantFrom<number>(
      MessageType.SleepCompletion,
      MessageType.RunCompletion,
      MessageType.Run,
      MessageType.Input,
      MessageType.Signal,
    ),
    body: fc.constantFrom(encodeCompletion(1, { kind: "value", value: new Uint8Array(2) }), new Uint8Array([1, 2, 3])),
    appendedAtMs: time,
  });
  const event: fc.Arbitrary<JournalEvent> = fc.record({
    kind: fc.constantFrom("transientError" as const, "paused" as const),
    afterIndex: fc.integer({ min: -1, max: 12 }),
    atMs: time,
    error: fc.constantFrom(undefined, SOME_ERROR),
  });
  const held = fc.option(
    fc.record({
      inFlight: fc.boolean(),
      retryCount: fc.integer({ min: 0, max: 3 }),
      lastStartAtMs: maybeTime,
      nextRetryAtMs: maybeTime,
      lastAttemptDeploymentId: fc.constant(undefined),
      lastFailure: fc.constant(undefined),
      lastAwaitingJson: fc.constant(undefined),
      slotWait: fc.option(fc.record({ sinceMs: time }), { nil: undefined }),
    }),
    { nil: undefined },
  );
  const milestones = fc.record({
    scheduledAtMs: maybeTime,
    inboxedAtMs: maybeTime,
    runningAtMs: maybeTime,
    completedAtMs: maybeTime,
    moves: fc.option(
      fc
        .array(fc.tuple(fc.nat(78), fc.nat(255)), { minLength: 1, maxLength: 6 })
        .map((moves) => Uint8Array.from(moves.flatMap(([high, low]) => [0, 0, 0, 0, high, low]))),
      { nil: undefined },
    ),
  });
  const status = fc.constantFrom<Invocation["status"]>(
    "scheduled",
    "inboxed",
    "invoked",
    "suspended",
    "ready",
    "paused",
    "completed",
  );

  test("adds up: clocks that jump, journals cut short, events out of place", () => {
    fc.assert(
      fc.property(
        status,
        milestones,
        fc.array(entry, { maxLength: 12 }),
        fc.array(event, { maxLength: 6 }),
        held,
        time,
        time,
        fc.integer({ min: 0, max: 6 }),
        fc.constantFrom(undefined, 0, 700),
        (name, stones, entries, events, holding, createdAtMs, nowMs, run, idleMs) => {
          const change = { facts: someFacts({ createdAtMs }), milestones: stones, run, modifiedAtMs: nowMs };
          const snapshot: InvocationSnapshot = { invocation: anInvocation(name, change), held: holding, entries, events };
          expectWhole(timelineOf(snapshot, nowMs, idleMs));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
