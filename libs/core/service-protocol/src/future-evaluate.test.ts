import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Combinator, type Future, waitingCompletions } from "./future.js";
import { evaluateFuture, type LeafOutcome, narrowFuture } from "./future-evaluate.js";
import type { NotificationId } from "./values.js";

const resolved = { kind: "resolved" };

function node(combinator: Combinator, completions: readonly number[], nested: readonly Future[] = []): Future {
  return { completions, signalIndexes: [], signalNames: [], nested, combinator };
}

function pending(remaining: Future) {
  return { kind: "pending", remaining };
}

/** Evaluates against outcomes by completion id. */
function evaluate(future: Future, outcomes: Readonly<Record<number, LeafOutcome>>) {
  return evaluateFuture(future, (id) => (id.kind === "completion" ? outcomes[id.id] : undefined));
}

describe("a single node", () => {
  test("nothing has arrived: pending, and the remainder is the future itself", () => {
    const future = node("allCompleted", [1, 2], [node("firstCompleted", [3])]);
    const evaluation = evaluate(future, {});
    expect(evaluation.kind === "pending" && evaluation.remaining).toBe(future);
  });

  test.each(["unknown", "firstCompleted"] as const)("%s resolves with its first child", (combinator) => {
    for (const outcome of ["success", "failure", "either"] as const) {
      expect(evaluate(node(combinator, [1, 2]), { 2: outcome })).toEqual(resolved);
    }
  });

  test("allCompleted resolves with its last child, whatever the outcomes", () => {
    const future = node("allCompleted", [1, 2, 3]);
    expect(evaluate(future, { 1: "failure", 3: "success" })).toEqual(pending(node("allCompleted", [2])));
    expect(evaluate(future, { 1: "failure", 2: "success", 3: "either" })).toEqual(resolved);
  });

  test("firstSucceededOrAllFailed waits through failures for a success", () => {
    const future = node("firstSucceededOrAllFailed", [1, 2, 3]);
    expect(evaluate(future, { 1: "failure", 2: "failure" })).toEqual(pending(node("firstSucceededOrAllFailed", [3])));
    expect(evaluate(future, { 2: "success" })).toEqual(resolved);
    expect(evaluate(future, { 1: "failure", 2: "failure", 3: "failure" })).toEqual(resolved);
    expect(evaluate(future, { 2: "either" })).toEqual(resolved);
  });

  test("allSucceededOrFirstFailed waits through successes for a failure", () => {
    const future = node("allSucceededOrFirstFailed", [1, 2, 3]);
    expect(evaluate(future, { 1: "success", 2: "success" })).toEqual(pending(node("allSucceededOrFirstFailed", [3])));
    expect(evaluate(future, { 2: "failure" })).toEqual(resolved);
    expect(evaluate(future, { 1: "success", 2: "success", 3: "success" })).toEqual(resolved);
    expect(evaluate(future, { 2: "either" })).toEqual(resolved);
  });

  test("all three kinds of leaves are matched and pruned", () => {
    const future: Future = {
      completions: [1],
      signalIndexes: [1, 17],
      signalNames: ["go", "stop"],
      nested: [],
      combinator: "allCompleted",
    };
    const arrived = new Set(["completion 1", "signalIndex 17", "signalName stop"]);
    const keyOf = (id: NotificationId) =>
      `${id.kind} ${id.kind === "completion" ? id.id : id.kind === "signalIndex" ? id.index : id.name}`;
    expect(evaluateFuture(future, (id) => (arrived.has(keyOf(id)) ? "success" : undefined))).toEqual(
      pending({ ...future, completions: [], signalIndexes: [1], signalNames: ["go"] }),
    );
  });
});

describe("a tree", () => {
  test("resolved branches fall away, the others are narrowed in place", () => {
    const future = node(
      "allCompleted",
      [9],
      [node("firstCompleted", [1, 2]), node("allCompleted", [3, 4]), node("allCompleted", [5])],
    );
    expect(evaluate(future, { 2: "success", 4: "failure" })).toEqual(
      pending(node("allCompleted", [9], [node("allCompleted", [3]), node("allCompleted", [5])])),
    );
  });

  test("the failure of a race fails the all it stands in", () => {
    const future = node("allSucceededOrFirstFailed", [9], [node("firstCompleted", [1, 2])]);
    expect(evaluate(future, { 1: "success" })).toEqual(pending(node("allSucceededOrFirstFailed", [9])));
    expect(evaluate(future, { 1: "failure" })).toEqual(resolved);
  });

  test("a race whose children disagree leaves the decision to the SDK, which has the order", () => {
    const future = node("allSucceededOrFirstFailed", [9], [node("firstCompleted", [1, 2])]);
    expect(evaluate(future, { 1: "success", 2: "failure" })).toEqual(resolved);
  });

  test("an outcome that may be either resumes at once, from any depth", () => {
    const timeout = node("unknown", [1, 2]);
    const future = node("allCompleted", [9], [node("allSucceededOrFirstFailed", [3], [timeout])]);
    expect(evaluate(future, { 3: "success" })).toMatchObject({ kind: "pending" });
    expect(evaluate(future, { 1: "success" })).toEqual(resolved);
  });
});

describe("narrowing by one notification", () => {
  test("one that is not awaited leaves the same future", () => {
    const future = node("allCompleted", [1, 2], [node("firstCompleted", [3])]);
    const ids: NotificationId[] = [
      { kind: "completion", id: 4 },
      { kind: "signalIndex", index: 1 },
      { kind: "signalName", name: "1" },
    ];
    for (const id of ids) {
      const evaluation = narrowFuture(future, id, "success");
      expect(evaluation.kind === "pending" && evaluation.remaining).toBe(future);
    }
  });

  test("two sleeps of one all: the first narrows, the second resumes", () => {
    const first = narrowFuture(node("allCompleted", [1, 2]), { kind: "completion", id: 1 }, "success");
    expect(first).toEqual(pending(node("allCompleted", [2])));
    expect(narrowFuture(node("allCompleted", [2]), { kind: "completion", id: 2 }, "success")).toEqual(resolved);
  });

  test("a named signal and a signal index resolve their leaves", () => {
    const future: Future = { completions: [], signalIndexes: [1], signalNames: ["go"], nested: [], combinator: "firstCompleted" };
    expect(narrowFuture(future, { kind: "signalName", name: "go" }, "failure")).toEqual(resolved);
    expect(narrowFuture(future, { kind: "signalIndex", index: 1 }, "success")).toEqual(resolved);
  });
});

/**
 * What the SDK's own combinators do, step by step: each leaf arrives at a time of its own, so a race has a winner.
 * Returns when and how a future settles, undefined when what arrives does not settle it.
 */
function resolutionOf(
  future: Future,
  arrivals: readonly { id: number; outcome: "success" | "failure" }[],
): Resolution | undefined {
  const children: (Resolution | undefined)[] = [
    ...future.completions.map((id) => {
      const time = arrivals.findIndex((arrival) => arrival.id === id);
      return time < 0 ? undefined : { time, outcome: arrivals[time]!.outcome };
    }),
    ...future.nested.map((child) => resolutionOf(child, arrivals)),
  ];
  const done = children.filter((child) => child !== undefined).sort((a, b) => a.time - b.time);
  const first = (outcome: string) => done.find((child) => child.outcome === outcome);
  const last = done.length === children.length ? done.at(-1) : undefined;
  switch (future.combinator) {
    case "unknown":
    case "firstCompleted":
      return done[0];
    case "allCompleted":
      return last && { time: last.time, outcome: "success" };
    case "firstSucceededOrAllFailed":
      return first("success") ?? last;
    case "allSucceededOrFirstFailed":
      return first("failure") ?? last;
  }
}

interface Resolution {
  readonly time: number;
  readonly outcome: "success" | "failure";
}

/** Shapes of trees; every node has a child, and every leaf gets an id of its own. */
interface Shape {
  readonly combinator: Combinator;
  readonly leaves: number;
  readonly nested: readonly Shape[];
}

function shapes(combinators: readonly Combinator[]): fc.Arbitrary<Future> {
  const shape = fc.letrec<{ tree: Shape }>((tie) => ({
    tree: fc
      .record({
        combinator: fc.constantFrom(...combinators),
        leaves: fc.nat({ max: 3 }),
        nested: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie("tree"), { maxLength: 3 })),
      })
      .map((tree) => (tree.leaves + tree.nested.length === 0 ? { ...tree, leaves: 1 } : tree)),
  })).tree;
  return shape.map((tree) => {
    let next = 0;
    const number = ({ combinator, leaves, nested }: Shape): Future =>
      node(
        combinator,
        Array.from({ length: leaves }, () => next++),
        nested.map(number),
      );
    return number(tree);
  });
}

/** All leaves of a future in some order of arrival, each with some outcome. */
function histories(combinators: readonly Combinator[]) {
  return shapes(combinators).chain((future) => {
    const ids = waitingCompletions(future);
    return fc.record({
      future: fc.constant(future),
      arrivals: fc
        .tuple(
          fc.shuffledSubarray(ids, { minLength: ids.length }),
          fc.array(fc.constantFrom("success" as const, "failure" as const), { minLength: ids.length, maxLength: ids.length }),
        )
        .map(([order, outcomes]) => order.map((id, i) => ({ id, outcome: outcomes[i]! }))),
    });
  });
}

const decided: readonly Combinator[] = [
  "firstCompleted",
  "allCompleted",
  "firstSucceededOrAllFailed",
  "allSucceededOrFirstFailed",
];

describe("compared with what the SDK does", () => {
  test("narrowing one by one resumes exactly when the handler can continue", () => {
    fc.assert(
      fc.property(histories(decided), ({ future, arrivals }) => {
        const expected = resolutionOf(future, arrivals)?.time;
        let awaiting = future;
        const at = arrivals.findIndex(({ id, outcome }) => {
          const evaluation = narrowFuture(awaiting, { kind: "completion", id }, outcome);
          if (evaluation.kind === "pending") awaiting = evaluation.remaining;
          return evaluation.kind === "resolved";
        });
        expect(at).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("with undecided nodes it may resume early, but never late", () => {
    fc.assert(
      fc.property(histories([...decided, "unknown"]), ({ future, arrivals }) => {
        const expected = resolutionOf(future, arrivals)!.time;
        let awaiting = future;
        const at = arrivals.findIndex(({ id, outcome }) => {
          const evaluation = narrowFuture(awaiting, { kind: "completion", id }, outcome);
          if (evaluation.kind === "pending") awaiting = evaluation.remaining;
          return evaluation.kind === "resolved";
        });
        expect(at).toBeGreaterThanOrEqual(0);
        expect(at).toBeLessThanOrEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("evaluating what arrived before the suspension loses no wake-up, in whatever order it came", () => {
    fc.assert(
      fc.property(histories([...decided, "unknown"]), fc.nat(), ({ future, arrivals }, many) => {
        const before = arrivals.slice(0, many % (arrivals.length + 1));
        const outcomes = new Map(before.map(({ id, outcome }) => [id, outcome]));
        const evaluation = evaluateFuture(future, (id) => (id.kind === "completion" ? outcomes.get(id.id) : undefined));
        if (resolutionOf(future, before) !== undefined) expect(evaluation).toEqual(resolved);
      }),
      { numRuns: 1000 },
    );
  });

  test("when everything succeeds, evaluating at once agrees with the handler exactly", () => {
    fc.assert(
      fc.property(histories(decided), fc.nat(), ({ future, arrivals }, many) => {
        const before = arrivals.slice(0, many % (arrivals.length + 1)).map(({ id }) => ({ id, outcome: "success" as const }));
        const arrived = new Set(before.map(({ id }) => id));
        const evaluation = evaluateFuture(future, (id) =>
          id.kind === "completion" && arrived.has(id.id) ? "success" : undefined,
        );
        expect(evaluation.kind === "resolved").toBe(resolutionOf(future, before) !== undefined);
      }),
      { numRuns: 1000 },
    );
  });
});
