import { describe, expect, test } from "@jest/globals";
import { decodeControl, encodeControl } from "./codec/control.js";
import {
  type Combinator,
  decodeFuture,
  encodeFuture,
  type Future,
  FutureTooDeep,
  futureFromLists,
  isEmptyFuture,
  isTooDeep,
  waitingCompletions,
  waitingNamedSignals,
  waitingSignals,
} from "./future.js";
import { futureToJson, notificationIdToJson } from "./future-json.js";
import { futureDepthMax } from "./limits.js";
import { MessageType } from "./message-type.js";

/** all of (run 2, call 1, race of sleeps 3 and 4), or a cancellation: what the TypeScript SDK sends on v7. */
const raceInAll = node("firstCompleted", {
  signalIndexes: [1],
  nested: [node("allSucceededOrFirstFailed", { completions: [2, 1], nested: [node("firstCompleted", { completions: [3, 4] })] })],
});

function node(combinator: Combinator, parts: Partial<Omit<Future, "combinator">>): Future {
  return { completions: [], signalIndexes: [], signalNames: [], nested: [], ...parts, combinator };
}

/** A chain of `levels` nodes with one leaf at its end. */
function chain(levels: number): Future {
  let future = futureFromLists([1]);
  for (let i = 1; i < levels; i++) future = node("firstCompleted", { nested: [future] });
  return future;
}

test("the lists of v5 and v6 are one level without a combinator", () => {
  expect(futureFromLists([1, 2], [1], ["go"])).toEqual(
    node("unknown", { completions: [1, 2], signalIndexes: [1], signalNames: ["go"] }),
  );
});

test("a future is empty when it has no leaf on any level", () => {
  expect(isEmptyFuture(futureFromLists([]))).toBe(true);
  expect(isEmptyFuture(node("firstCompleted", { nested: [node("allCompleted", {}), futureFromLists([])] }))).toBe(true);
  expect(isEmptyFuture(futureFromLists([], [], [""]))).toBe(false);
  expect(isEmptyFuture(raceInAll)).toBe(false);
});

test("leaves are listed from all levels, also when there are very many", () => {
  expect(waitingCompletions(raceInAll)).toEqual([2, 1, 3, 4]);
  expect(waitingSignals(raceInAll)).toEqual([1]);
  expect(waitingNamedSignals(node("unknown", { signalNames: ["a"], nested: [futureFromLists([], [], ["b"])] }))).toEqual([
    "a",
    "b",
  ]);
  const many = Array.from({ length: 500_000 }, (_, i) => i);
  expect(waitingCompletions(futureFromLists(many))).toHaveLength(many.length);
});

describe("depth", () => {
  test("the deepest legal tree is decoded and stored, one level more is RT0025", () => {
    const deepest = chain(futureDepthMax);
    expect(isTooDeep(deepest)).toBe(false);
    const body = encodeControl({ kind: "suspension", awaitingOn: deepest }, 7);
    const decoded = decodeControl(MessageType.Suspension, body, 7);
    expect(decoded.kind).toBe("suspension");
    expect(waitingCompletions(decodeFuture(encodeFuture(deepest)))).toEqual([1]);

    const tooDeep = chain(futureDepthMax + 1);
    expect(isTooDeep(tooDeep)).toBe(true);
    for (const kind of ["suspension", "awaitingOn"] as const) {
      const type = kind === "suspension" ? MessageType.Suspension : MessageType.AwaitingOn;
      const message = encodeControl({ kind, awaitingOn: tooDeep, executingSideEffects: false }, 7);
      expect(decodeControl(type, message, 7)).toEqual({
        kind: "fault",
        code: "RT0025",
        detail: "awaited future has more than 1000 levels",
      });
    }
    expect(() => decodeFuture(encodeFuture(tooDeep))).toThrow(FutureTooDeep);
  });
});

describe("as JSON", () => {
  test("a node is tagged with its combinator, a leaf is Single", () => {
    expect(futureToJson(futureFromLists([1], [1], ["go"]))).toEqual({
      Unknown: [{ Single: { CompletionId: 1 } }, { Single: { SignalIndex: 1 } }, { Single: { SignalName: "go" } }],
    });
  });

  test("nested nodes follow the leaves", () => {
    expect(futureToJson(raceInAll)).toEqual({
      FirstCompleted: [
        { Single: { SignalIndex: 1 } },
        {
          AllSucceededOrFirstFailed: [
            { Single: { CompletionId: 2 } },
            { Single: { CompletionId: 1 } },
            { FirstCompleted: [{ Single: { CompletionId: 3 } }, { Single: { CompletionId: 4 } }] },
          ],
        },
      ],
    });
  });

  test("ids have the same form outside of a tree", () => {
    expect(notificationIdToJson({ kind: "completion", id: 3 })).toEqual({ CompletionId: 3 });
    expect(notificationIdToJson({ kind: "signalIndex", index: 17 })).toEqual({ SignalIndex: 17 });
    expect(notificationIdToJson({ kind: "signalName", name: "go" })).toEqual({ SignalName: "go" });
  });
});
