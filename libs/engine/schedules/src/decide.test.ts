import { describe, expect, test } from "@jest/globals";
import { invocationIdFromRaw } from "@perdure/base";
import { applyEvent, decide, dueAt, type PreviousRun, type Schedule, type ScheduleRecord, statusOf, upcoming } from "./index.js";
import { aSchedule } from "./testing/index.js";

const MINUTE = 60_000;
const DAY = 86_400_000;
const START = Date.parse("2026-11-21T12:00:00Z");
const RUN = invocationIdFromRaw(new Uint8Array(24).fill(1));
const at = (minutes: number) => START + minutes * MINUTE;
const active = { invocationId: RUN, nominalMs: START };

/**
 * Returns actions as text: `fire 1 due`, the number being minutes after the start. Misses are recorded, and the actions after them are
 * added.
 */
function actions(schedule: Schedule, nowMs: number, previous: PreviousRun = "ended"): string[] {
  const decision = decide(schedule, nowMs, previous, undefined);
  const texts = decision.actions.map((action) => {
    switch (action.kind) {
      case "fire":
        return `fire ${(action.nominalMs - START) / MINUTE} ${action.cause}`;
      case "miss":
        return `miss ${action.count}`;
      case "cancel":
      case "endRun":
        return action.kind;
      default:
        return `${action.kind} ${(action.nominalMs - START) / MINUTE}`;
    }
  });
  const missed = decision.actions.find((action) => action.kind === "miss");
  if (missed === undefined) return texts;
  expect([decision.actions.at(-1), decision.nextCheckAtMs]).toEqual([missed, nowMs]);
  const state = applyEvent(schedule.record, schedule.state, { ...missed, kind: "missed", atMs: nowMs });
  return [...texts, ...actions({ ...schedule, state }, nowMs, previous)];
}

const minutely = (record: Partial<ScheduleRecord> = {}, state: Partial<Schedule["state"]> = {}) =>
  aSchedule(record, { decidedThroughMs: START, ...state });

describe("a time that has come", () => {
  test("fires, and not a millisecond before", () => {
    expect(decide(minutely(), at(1) - 1, "ended", undefined)).toEqual({ actions: [], nextCheckAtMs: at(1) });
    expect(actions(minutely(), at(1))).toEqual(["fire 1 due"]);
  });
  test("fires once: a decision stays, also when the clock goes back", () => {
    const schedule = minutely({}, { decidedThroughMs: at(5) });
    expect(decide(schedule, at(5), "ended", undefined)).toEqual({ actions: [], nextCheckAtMs: at(6) });
    expect(decide(schedule, at(-100), "ended", undefined)).toEqual({ actions: [], nextCheckAtMs: at(6) });
  });
  test("waits while the schedule is paused", () => {
    expect(decide(minutely({}, { isPaused: true }), at(3), "ended", undefined)).toEqual({
      actions: [],
      nextCheckAtMs: undefined,
    });
  });
  test("that comes with others fires in order, under allow all at once", () => {
    const often = minutely({ cron: "* * * * * *", overlap: { kind: "allow" } });
    expect(decide(often, START + 3000, "ended", undefined)).toEqual({
      actions: [1, 2, 3].map((second) => ({ kind: "fire", nominalMs: START + second * 1000, cause: "due" })),
      nextCheckAtMs: START + 4000,
    });
    const alone = decide(minutely({ cron: "* * * * * *" }), START + 3000, "ended", undefined);
    expect([alone.actions.length, alone.nextCheckAtMs]).toEqual([1, START + 3000]);
  });
});

describe("while the previous run continues", () => {
  test("skip skips the time", () => {
    expect(actions(minutely({}, { active }), at(1), "running")).toEqual(["skip 1"]);
    expect(actions(minutely({}, { active }), at(1), "ended")).toEqual(["endRun", "fire 1 due"]);
  });
  test("allow starts another run", () => {
    expect(actions(minutely({ overlap: { kind: "allow" } }, { active }), at(1), "running")).toEqual(["fire 1 due"]);
  });
  test("queue keeps times up to its bound, and skips the rest", () => {
    const queued = (queue: number[]) => minutely({ overlap: { kind: "queue", max: 2 } }, { active, queue });
    expect(actions(queued([]), at(1), "running")).toEqual(["queue 1"]);
    expect(actions(queued([at(-1)]), at(1), "running")).toEqual(["queue 1"]);
    expect(actions(queued([at(-2), at(-1)]), at(1), "running")).toEqual(["skip 1"]);
  });
  test("the oldest of the queue fires when it has ended, one at a time", () => {
    const schedule = minutely({ overlap: { kind: "queue", max: 2 } }, { active, queue: [at(-2), at(-1)] });
    expect(decide(schedule, START, "ended", undefined)).toMatchObject({ nextCheckAtMs: START });
    expect(actions(schedule, START, "ended")).toEqual(["endRun", "fire -2 queued"]);
    expect(actions(schedule, START, "running")).toEqual([]);
  });
  test("cancelPrevious cancels the run, and the newest time waits for its end", () => {
    const overlap = { kind: "cancelPrevious" } as const;
    expect(actions(minutely({ overlap }, { active }), at(1), "running")).toEqual(["cancel", "queue 1"]);
    expect(actions(minutely({ overlap }, { active, queue: [START] }), at(1), "running")).toEqual(["cancel", "skip 0", "queue 1"]);
    expect(actions(minutely({ overlap }, { active, queue: [START] }), at(0.5), "ended")).toEqual(["endRun", "fire 0 queued"]);
  });
});

describe("after down time", () => {
  // Minutes 1…30 passed; the last is half a minute old.
  const now = at(30.5);
  const after = (record: Partial<ScheduleRecord>, nowMs = now) =>
    actions(minutely({ overlap: { kind: "allow" }, ...record }), nowMs);

  test("none fires no time", () => {
    expect(after({ catchUp: { kind: "none" } })).toEqual(["miss 30"]);
    expect(after({ catchUp: { kind: "none" } }, at(30) + 5000)).toEqual(["miss 29", "fire 30 due"]);
  });
  test("last fires the last time", () => {
    expect(after({ catchUp: { kind: "last" } })).toEqual(["miss 29", "fire 30 caughtUp"]);
    expect(after({ catchUp: { kind: "last" } }, at(1.5))).toEqual(["fire 1 caughtUp"]);
  });
  test("all fires the newest times, up to its count and as far back as its window", () => {
    expect(after({ catchUp: { kind: "all", max: 3, windowMs: DAY } })).toEqual([
      "miss 27",
      "fire 28 caughtUp",
      "fire 29 caughtUp",
      "fire 30 caughtUp",
    ]);
    expect(after({ catchUp: { kind: "all", max: 100, windowMs: 90_000 } })).toEqual(["miss 29", "fire 30 caughtUp"]);
    expect(after({ catchUp: { kind: "all", max: 100, windowMs: 1000 } })).toEqual(["miss 30"]);
    expect(after({ catchUp: { kind: "all", max: 100, windowMs: DAY } }).length).toBe(30);
  });
  test("a time that may have been submitted already is submitted again, before anything is decided of the others", () => {
    const tried = (triedMs: number, overlap: ScheduleRecord["overlap"]) =>
      decide(minutely({ overlap }), now, "ended", triedMs).actions.map(({ kind }) => kind);
    expect(tried(at(1), { kind: "allow" })).toEqual(["fire"]);
    expect(tried(at(7), { kind: "allow" })).toEqual(["miss"]);
  });
  test("years of seconds are decided at once, counted up to a bound", () => {
    const schedule = minutely({ cron: "* * * * * *", catchUp: { kind: "last" } });
    const nowMs = START + 3 * 365 * DAY;
    expect(decide(schedule, nowMs, "ended", undefined).actions).toEqual([
      { kind: "miss", count: 1000, throughMs: nowMs - 10_000 - 1000 - 1 },
    ]);
    expect(actions(schedule, nowMs)).toEqual(["miss 1000", `fire ${(nowMs - 11_000 - START) / MINUTE} caughtUp`]);
  });
  test("many times are caught up in several turns, and the turns together fire each once", () => {
    let schedule = minutely({ overlap: { kind: "allow" }, catchUp: { kind: "all", max: 1000, windowMs: DAY } });
    const fired: number[] = [];
    for (let turn = 0; turn < 10; turn++) {
      const { actions: some, nextCheckAtMs } = decide(schedule, at(500), "ended", undefined);
      for (const action of some) {
        if (action.kind !== "fire") throw new Error(action.kind);
        fired.push(action.nominalMs);
        const event = {
          kind: "fired",
          cause: action.cause,
          nominalMs: action.nominalMs,
          atMs: at(500),
          invocationId: RUN,
        } as const;
        schedule = { ...schedule, state: applyEvent(schedule.record, schedule.state, event) };
      }
      if (nextCheckAtMs !== at(500)) break;
    }
    expect(fired).toEqual(Array.from({ length: 500 }, (_, i) => at(i + 1)));
  });
});

describe("start, end and count", () => {
  test("no time before the start or after the end fires; the end itself does", () => {
    const schedule = minutely({ startAtMs: at(10), endAtMs: at(12), overlap: { kind: "allow" } });
    expect(decide(schedule, at(5), "ended", undefined)).toEqual({ actions: [], nextCheckAtMs: at(10) });
    expect(upcoming(schedule, START, 10)).toEqual([at(10), at(11), at(12)]);
    const done = { ...schedule, state: { ...schedule.state, decidedThroughMs: at(12) } };
    expect(decide(done, at(13), "ended", undefined)).toEqual({ actions: [], nextCheckAtMs: undefined });
    expect([statusOf(schedule), statusOf(done)]).toEqual(["active", "ended"]);
  });
  test("times after the end do not count as missed", () => {
    const schedule = minutely({ endAtMs: at(3), catchUp: { kind: "last" } });
    expect(actions(schedule, at(60))).toEqual(["miss 2", "fire 3 caughtUp"]);
  });
  test("the schedule ends after its number of firings, queued ones counted", () => {
    const schedule = (firedCount: number, queue: number[] = []) =>
      minutely({ firingsMax: 3, overlap: { kind: "queue", max: 9 } }, { firedCount, queue, active });
    expect(actions(schedule(2), at(1), "running")).toEqual(["queue 1"]);
    expect(decide(schedule(2, [at(-1)]), at(1), "running", undefined)).toEqual({ actions: [], nextCheckAtMs: undefined });
    expect(statusOf(schedule(2, [at(-1)]))).toBe("active");
    expect(statusOf(schedule(3))).toBe("ended");
    expect(upcoming(schedule(1), START, 10).length).toBe(2);
  });
});

describe("jitter", () => {
  test("is always the same, within its bound, and keeps the order of times", () => {
    const schedule = minutely({ jitterMs: 3_600_000 });
    const offsets = Array.from({ length: 200 }, (_, i) => dueAt(schedule, at(i)) - at(i));
    expect(offsets).toEqual(Array.from({ length: 200 }, (_, i) => dueAt(schedule, at(i)) - at(i)));
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...offsets)).toBeLessThan(MINUTE);
    expect(new Set(offsets).size).toBeGreaterThan(150);
    const due = dueAt(schedule, at(1));
    expect(decide(schedule, due - 1, "ended", undefined).nextCheckAtMs).toBe(due);
    expect(actions(schedule, due)).toEqual(["fire 1 due"]);
  });
});

describe("events", () => {
  const { record, state } = minutely({ overlap: { kind: "queue", max: 3 } }, { queue: [at(1), at(2)] });
  test("fold into the state, history newest first and bounded", () => {
    const fired = applyEvent(record, state, { kind: "fired", cause: "queued", nominalMs: at(1), atMs: at(2), invocationId: RUN });
    expect(fired).toMatchObject({
      queue: [at(2)],
      firedCount: 1,
      active: { invocationId: RUN },
      lastFired: { nominalMs: at(1) },
    });
    const skipped = applyEvent(record, fired, { kind: "skipped", nominalMs: at(3), atMs: at(3) });
    expect(skipped.recent.map(({ outcome }) => outcome)).toEqual(["skipped", "fired"]);
    expect(applyEvent(record, skipped, { kind: "runEnded", invocationId: RUN }).active).toBeUndefined();
    let many = state;
    for (let i = 0; i < 50; i++) many = applyEvent(record, many, { kind: "skipped", nominalMs: at(i), atMs: at(i) });
    expect([many.recent.length, many.skippedCount, many.queue]).toEqual([20, 50, []]);
  });
  test("by hand do not change the timetable", () => {
    const manual = applyEvent(record, state, {
      kind: "fired",
      cause: "manual",
      nominalMs: at(9),
      atMs: at(9),
      invocationId: RUN,
    });
    expect(manual).toMatchObject({
      decidedThroughMs: START,
      firedCount: 0,
      manualCount: 1,
      active: undefined,
      queue: [at(1), at(2)],
    });
  });
  test("the end of a run that is not the active one changes nothing", () => {
    expect(applyEvent(record, state, { kind: "runEnded", invocationId: RUN })).toBe(state);
  });
});
