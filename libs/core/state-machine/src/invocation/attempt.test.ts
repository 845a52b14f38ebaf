/** Reports of attempts: late ones change nothing, and no wake-up is lost between a suspension and what it awaits. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { encodeCompletion, type Future, MessageType } from "@perdure/service-protocol";
import fc from "fast-check";
import type { AttemptCommand, PartitionCommand } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import { EVENT_SLOTS } from "../mutation.js";
import {
  anId,
  DEPLOYMENT,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  outputOf,
  pinOf,
  proposeOf,
  runOf,
  SOME_ERROR,
  sleepOf,
  someFacts,
  suspendOf,
  tree,
} from "../testing/index.js";
import { movesOf } from "./moves.js";

const ID = anId(1);

function started(): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID })));
  return partition;
}

const attemptCommands: readonly (readonly [string, AttemptCommand])[] = [
  ["a pin", pinOf(ID, 1)],
  ["a command", sleepOf(ID, 1, 1, 60_000)],
  ["a run's result", proposeOf(ID, 1, 1, { kind: "value", value: utf8("v") })],
  ["a suspension", suspendOf(ID, 1, [1])],
  ["a wait for a slot", { kind: "slotWaited", id: ID, run: 1, sinceMs: 1_000, untilMs: 2_000 }],
  ["an end", endOf(ID, 1)],
  ["a failure", failOf(ID, 1, "retry")],
  ["a failure that kills", failOf(ID, 1, "kill")],
];

describe("a report of a run that is over", () => {
  const NOTHING = { mutations: [], effects: [], sent: [] };

  test.each(attemptCommands)("%s changes nothing after a newer run has begun", (_, attemptCommand) => {
    const partition = started();
    partition.play(suspendOf(ID, 1, [1]));
    partition.play({ kind: "resume", id: ID, moveTo: undefined });
    expect(partition.invocation(ID)?.run).toBe(2);
    expect(partition.play(attemptCommand)).toEqual(NOTHING);
  });

  test.each(attemptCommands)(
    "%s changes nothing once the invocation is suspended, paused, killed or gone",
    (_, attemptCommand) => {
      const ends: readonly (readonly PartitionCommand[])[] = [
        [suspendOf(ID, 1, [1])],
        [failOf(ID, 1, "pause")],
        [{ kind: "kill", id: ID }],
        [
          { kind: "kill", id: ID },
          { kind: "purge", id: ID },
        ],
      ];
      for (const commands of ends) {
        const partition = started();
        for (const command of commands) partition.play(command);
        expect(partition.play(attemptCommand)).toEqual(NOTHING);
      }
    },
  );
});

describe("a pin", () => {
  test("is permanent: a second one is ignored", () => {
    const partition = started();
    partition.play(pinOf(ID, 1, 6));
    expect(partition.play(pinOf(ID, 1, 7)).mutations).toEqual([]);
    expect(partition.invocation(ID)?.pinned).toEqual({ deploymentId: DEPLOYMENT, protocolVersion: 6 });
  });
});

describe("a wait for a slot", () => {
  test("is kept with the moves of the invocation", () => {
    const partition = started();
    partition.play({ kind: "slotWaited", id: ID, run: 1, sinceMs: 1_000, untilMs: 3_000 });
    expect(movesOf(partition.invocation(ID)!.milestones)).toEqual([
      { state: "slot", atMs: 1_000 },
      { state: "running", atMs: 3_000 },
    ]);
  });
});

describe("a run's result", () => {
  const value = { kind: "value", value: utf8("v") } as const;

  test.each([
    [false, { kind: "push", thenAck: undefined }],
    [true, { kind: "ackRun", completionId: 1 }],
  ])("is stored in full and confirmed (by ack alone: %p)", (ackOnly, delivery) => {
    const partition = started();
    partition.play(runOf(ID, 1, 1));
    const { effects } = partition.play(proposeOf(ID, 1, 1, value, ackOnly));
    const entry = { type: MessageType.RunCompletion, body: encodeCompletion(1, value), appendedAtMs: 1_000 };
    expect(effects).toEqual([{ kind: "entryStored", id: ID, run: 1, index: 2, entry, delivery }]);
    expect(partition.entry(ID, 2)).toEqual(entry);
  });
});

describe("a suspension", () => {
  test("with a condition that the attempt found satisfied runs again at once", () => {
    const partition = started();
    const { effects } = partition.play(suspendOf(ID, 1, [1], { satisfied: true }));
    expect(effects.map((effect) => effect.kind)).toEqual(["stopRun", "startRun"]);
    expect(partition.invocation(ID)?.run).toBe(2);
  });

  test("is resolved by notifications that were stored while it was on its way", () => {
    const partition = started();
    partition.play(sleepOf(ID, 1, 1, 1_000));
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 1_000, kind: "sleep", id: ID, sequence: 1 } });
    partition.play(suspendOf(ID, 1, [1], { receivedNotificationCount: 0 }));
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
  });

  test("keeps only the part of the future that is still awaited", () => {
    const partition = started();
    for (const id of [1, 2, 3]) partition.play(sleepOf(ID, 1, id, 1_000 * id));
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 1_000, kind: "sleep", id: ID, sequence: 1 } });
    partition.play(suspendOf(ID, 1, [], { awaiting: tree("allCompleted", [1, 2, 3]) }));
    expect(partition.invocation(ID)).toMatchObject({ status: "suspended", awaiting: { completions: [2, 3] } });
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 2_000, kind: "sleep", id: ID, sequence: 2 } });
    expect(partition.invocation(ID)).toMatchObject({ status: "suspended", awaiting: { completions: [3] } });
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 3_000, kind: "sleep", id: ID, sequence: 3 } });
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
  });

  test.each<[string, Future, readonly (readonly [number, "value" | "failure"])[], number]>([
    ["any of a list", tree("unknown", [1, 2]), [[2, "failure"]], 1],
    ["the first of a race", tree("firstCompleted", [1, 2]), [[2, "failure"]], 1],
    [
      "all to settle",
      tree("allCompleted", [1, 2]),
      [
        [1, "failure"],
        [2, "value"],
      ],
      2,
    ],
    [
      "all to succeed",
      tree("allSucceededOrFirstFailed", [1, 2]),
      [
        [1, "value"],
        [2, "value"],
      ],
      2,
    ],
    ["all to succeed, when one fails", tree("allSucceededOrFirstFailed", [1, 2]), [[2, "failure"]], 1],
    [
      "any to succeed",
      tree("firstSucceededOrAllFailed", [1, 2]),
      [
        [1, "failure"],
        [2, "value"],
      ],
      2,
    ],
    [
      "any to succeed, when all fail",
      tree("firstSucceededOrAllFailed", [1, 2]),
      [
        [2, "failure"],
        [1, "failure"],
      ],
      2,
    ],
    [
      "a tree of two levels",
      tree("firstCompleted", [9], tree("allSucceededOrFirstFailed", [1], tree("firstCompleted", [2, 3]))),
      [
        [3, "value"],
        [1, "value"],
      ],
      2,
    ],
    [
      "an inner node that fails",
      tree("firstSucceededOrAllFailed", [1], tree("allSucceededOrFirstFailed", [2, 3])),
      [
        [3, "failure"],
        [1, "value"],
      ],
      2,
    ],
  ])(
    "that waits for %s resumes when that has come, not before, and whether it came early or late",
    (_, awaiting, arrivals, wakesAfter) => {
      for (let before = 0; before <= arrivals.length; before++) {
        const partition = started();
        const arrive = ([id, kind]: readonly [number, "value" | "failure"]): void => {
          const failure = { code: 500, message: "", metadata: [] };
          const body = encodeCompletion(id, kind === "value" ? { kind, value: utf8("v") } : { kind, failure });
          partition.play({ kind: "notify", id: ID, generation: undefined, type: MessageType.CallCompletion, body });
        };
        for (const arrival of arrivals.slice(0, before)) arrive(arrival);
        partition.play(suspendOf(ID, 1, [], { awaiting }));
        for (const arrival of arrivals.slice(before, wakesAfter)) {
          expect(partition.invocation(ID)?.status).toBe("suspended");
          expect(brokenInvariants(partition.snapshot())).toEqual([]);
          arrive(arrival);
        }
        expect(partition.invocation(ID)?.status).toBe("invoked");
      }
    },
  );

  test("is resumed at whatever place among the arrivals it is stored", () => {
    const leaf = fc.subarray([1, 2, 3, 4, 5], { minLength: 1 });
    const combinator = fc.constantFrom(
      "unknown",
      "firstCompleted",
      "allCompleted",
      "firstSucceededOrAllFailed",
      "allSucceededOrFirstFailed",
    );
    const future = fc
      .tuple(combinator, leaf, combinator, leaf)
      .map(([outer, ids, inner, others]) =>
        tree(outer as Future["combinator"], ids, tree(inner as Future["combinator"], others)),
      );
    const arrivals = fc.tuple(
      fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 5 }),
      fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    );
    fc.assert(
      fc.property(future, arrivals, fc.nat({ max: 5 }), (awaiting, [order, failed], at) => {
        const wokenAfter = (suspendAt: number): number => {
          const partition = started();
          for (let n = 0; n <= 5; n++) {
            if (n === suspendAt) partition.play(suspendOf(ID, 1, [], { awaiting, receivedNotificationCount: 0 }));
            if (n >= suspendAt && partition.invocation(ID)?.run === 2) return n;
            if (n === 5) break;
            const result = failed[n]
              ? ({ kind: "failure", failure: { code: 1, message: "", metadata: [] } } as const)
              : ({ kind: "void" } as const);
            partition.play({
              kind: "notify",
              id: ID,
              generation: undefined,
              type: MessageType.CallCompletion,
              body: encodeCompletion(order[n] as number, result),
            });
          }
          return partition.invocation(ID)?.run === 2 ? 5 : 6;
        };
        // A runner that suspends first receives each arrival; one that suspends later reads them from the store. A race whose runners
        // disagree has no winner that both agree on, so the late one may be resumed to check for itself; it never stays suspended.
        expect(wokenAfter(at)).toBeLessThanOrEqual(Math.max(wokenAfter(0), at));
      }),
      { numRuns: 300 },
    );
  });
});

describe("a failure", () => {
  test("that is retried is recorded, and the invocation keeps its status", () => {
    const partition = started();
    const { effects } = partition.play(failOf(ID, 1, "retry", 3));
    expect(effects).toEqual([]);
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 1, journal: { hasEvents: true } });
    expect([...partition.events.keys()]).toEqual([`${ID}/3`]);
  });

  test("of a thousand leaves only as many events as there are slots", () => {
    const partition = started();
    for (let count = 1; count <= 1_000; count++) partition.play(failOf(ID, 1, "retry", count));
    expect(partition.events.size).toBe(EVENT_SLOTS);
    partition.play({ kind: "kill", id: ID });
    partition.play({ kind: "purge", id: ID });
    expect(partition.events.size).toBe(0);
  });

  test("that a manual pause repeats keeps its time, and is the reason of the pause", () => {
    const partition = started();
    partition.nowMs = 1_000;
    partition.play(failOf(ID, 1, "retry"));
    partition.nowMs = 5_000;
    partition.play({ kind: "pause", id: ID });
    partition.play({ ...failOf(ID, 1, "pause"), isRepeated: true });
    expect(partition.invocation(ID)?.status).toBe("paused");
    expect([...partition.events.values()]).toMatchObject([
      { kind: "transientError", atMs: 1_000, error: SOME_ERROR },
      { kind: "paused", atMs: 5_000, error: SOME_ERROR },
    ]);
  });

  test("pauses when the policy requires it, or when a pause was requested meanwhile; the error is kept beside the journal", () => {
    for (const [then, pauseRequested] of [
      ["pause", false],
      ["retry", true],
    ] as const) {
      const partition = started();
      if (pauseRequested) partition.play({ kind: "pause", id: ID });
      const { effects } = partition.play(failOf(ID, 1, then));
      expect(effects).toEqual([{ kind: "stopRun", id: ID, run: 1, reason: "paused" }]);
      expect(partition.invocation(ID)?.status).toBe("paused");
      expect([...partition.events.values()].map((event) => [event.kind, event.error?.message])).toEqual([
        ["transientError", "no luck"],
        ["paused", "no luck"],
      ]);
    }
  });
});

describe("an end", () => {
  test("without an Output is a bug of the attempt and never an outcome", () => {
    expect(() => started().play(endOf(ID, 1))).toThrow("an attempt ends only after its Output");
  });

  test("may come with a failure that user code chose", () => {
    const partition = started();
    partition.play({ ...outputOf(ID, 1, ""), body: new Uint8Array([0x7a, 0x03, 0x08, 0xa2, 0x03]) }); // 15 { 1: 418 }
    partition.play(endOf(ID, 1));
    expect(partition.invocation(ID)).toMatchObject({
      status: "completed",
      outcome: { failure: { code: 418, message: "" }, stacktrace: undefined },
    });
  });
});
