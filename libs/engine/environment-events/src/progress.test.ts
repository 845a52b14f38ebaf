import { describe, expect, test } from "@jest/globals";
import type { SubscriptionId } from "@perdure/base";
import type { SubscriptionRecord } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { Findings, Reported } from "./condition.js";
import { SubscriptionProgress } from "./progress.js";

const ID = "sub_15ChR1PDwZt22Rn2lfZrRo5" as SubscriptionId;
const AFTER = 60_000;

function aRecord(change: Partial<SubscriptionRecord> = {}): SubscriptionRecord {
  return { id: ID, source: "kafka://c/orders", sink: "service://Orders/add", options: {}, paused: false, skipped: [], ...change };
}

function aStatus(change: Partial<SubscriptionStatus> = {}): SubscriptionStatus {
  return {
    id: ID,
    state: "consuming",
    assigned: [0, 1],
    positions: [],
    stuck: undefined,
    lastFailure: undefined,
    nextRetryAtMs: undefined,
    handledCount: 0,
    ...change,
  };
}

/** The position of topic partition 0. */
const at = (next: number, lag: number): SubscriptionStatus => aStatus({ positions: [{ partition: 0, next, lag }] });
const FAILING = aStatus({ state: "backingOff", lastFailure: "no broker" });

/** Checks each step, ten seconds apart; returns the findings of each. */
function play(
  steps: readonly (readonly SubscriptionStatus[])[],
  reported: readonly Reported[] = [],
  records: readonly SubscriptionRecord[] = [aRecord()],
): Findings[] {
  const progress = new SubscriptionProgress(AFTER);
  return steps.map((statuses, index) => progress.check(records, statuses, reported, index * 10_000));
}

const repeated = <T>(count: number, step: T): T[] => Array.from({ length: count }, () => step);
const begunIn = (findings: readonly Findings[]): number => findings.findIndex(({ begun }) => begun.length > 0);

describe("a subscription is stuck", () => {
  test("when a topic partition has waiting records and the same position for the time", () => {
    const findings = play(repeated(7, [at(5, 3)]));
    expect(begunIn(findings)).toBe(6);
    expect(findings[6]?.begun[0]).toMatchObject({
      subject: ID,
      about: { services: ["Orders"], handler: "add" },
      positions: { "0": 5 },
      data: { source: "kafka://c/orders", lag: 3, partitions: [{ partition: 0, next: 5, lag: 3, stopped_for_ms: 60_000 }] },
    });
  });

  test("when no process consumes, although a failing consumer consumes for a moment", () => {
    const flapping = [[FAILING], [FAILING], [aStatus()], [FAILING], [FAILING], [FAILING], [FAILING]];
    const findings = play(flapping);
    expect(begunIn(findings)).toBe(6);
    expect(findings[6]?.begun[0]?.data).toMatchObject({ consuming: false, reason: "no broker", lag: 0 });
  });

  test("when one record blocks its topic partition while others move", () => {
    const blocked = (next: number): SubscriptionStatus =>
      aStatus({
        state: "backingOff",
        stuck: { partition: 0, offset: 5, reason: "no such handler" },
        positions: [
          { partition: 0, next: 5, lag: 2 },
          { partition: 1, next, lag: 9 },
        ],
      });
    const findings = play(repeated(7, undefined).map((_, index) => [blocked(index)]));
    expect(findings[6]?.begun[0]?.data).toMatchObject({ consuming: true, reason: "no such handler" });
  });
});

describe("a subscription is not stuck", () => {
  test("while it moves, however long its backlog", () => {
    expect(begunIn(play(repeated(20, undefined).map((_, index) => [at(index, 1_000)])))).toBe(-1);
  });

  test("when nothing waits", () => {
    expect(begunIn(play(repeated(20, [at(5, 0)])))).toBe(-1);
  });

  test("when another process consumes", () => {
    expect(begunIn(play(repeated(20, [FAILING, at(5, 0)])))).toBe(-1);
  });

  test("while it is paused, or no process reports it", () => {
    expect(begunIn(play(repeated(20, [aStatus({ state: "paused" })]), [], [aRecord({ paused: true })]))).toBe(-1);
    expect(begunIn(play(repeated(20, [])))).toBe(-1);
  });

  test("a second time, once it was reported", () => {
    expect(begunIn(play(repeated(20, [at(5, 3)]), [{ subject: ID, positions: { "0": 5 } }]))).toBe(-1);
  });
});

describe("a reported subscription", () => {
  const reported: readonly Reported[] = [{ subject: ID, positions: { "0": 5 } }];

  test("has recovered when it is beyond the stored position, also for a process that has just begun to watch", () => {
    const findings = play(repeated(2, [at(6, 3)]), reported);
    expect(findings[1]?.over.get(ID)).toMatchObject({ subscription: ID });
    expect(play(repeated(2, [at(5, 0)]), reported)[1]?.over.size).toBe(1);
  });

  test("has not recovered while it is where it was, is not read, or its consumer fails", () => {
    for (const status of [at(5, 3), aStatus(), FAILING]) {
      const findings = play(repeated(10, [status]), reported);
      expect(findings.some(({ over }) => over.size > 0)).toBe(false);
    }
  });

  test("is gone without an event when it is paused or deleted", () => {
    expect(play([[]], reported, [])[0]?.gone).toEqual([ID]);
    expect(play([[]], reported, [aRecord({ paused: true })])[0]?.gone).toEqual([ID]);
  });
});

describe("what was measured", () => {
  const itself = (ms: number): number => ms;

  test("of a topic partition that stands still continues in the next process, and a position beyond it begins the time again", () => {
    for (const [next, begins] of [
      [5, true],
      [6, false],
    ] as const) {
      const first = new SubscriptionProgress(AFTER);
      for (const nowMs of [0, 20_000, 40_000]) first.check([aRecord()], [at(5, 3)], [], nowMs);
      const measured = first.measured(itself);
      expect(measured).toEqual({ [ID]: { waiting: { "0": { next: 5, lag: 3, sinceMs: 0 } } } });
      const second = new SubscriptionProgress(AFTER);
      second.restore(measured, itself);
      second.check([aRecord()], [], [], 50_000); // No process has reported yet.
      expect(second.check([aRecord()], [at(next, 3)], [], 60_000).begun.length > 0).toBe(begins);
    }
  });

  test("is nothing while records are handled, and of what was reported", () => {
    const progress = new SubscriptionProgress(AFTER);
    for (const nowMs of [0, 20_000]) progress.check([aRecord()], [at(nowMs, 3)], [], nowMs);
    expect(progress.measured(itself)).toEqual({});
    for (const nowMs of [40_000, 60_000]) progress.check([aRecord()], [at(7, 3)], [{ subject: ID }], nowMs);
    expect(progress.measured(itself)).toEqual({});
  });
});
