import { describe, expect, test } from "@jest/globals";
import { type InvocationId, invariant } from "@perdure/base";
import type { Future } from "@perdure/service-protocol";
import { anId, anInvocation, objectTarget, SOME_ERROR, someFacts } from "@perdure/state-machine/testing";
import {
  AWAITED_LEAVES_MAX,
  type Awaited,
  type AwaitLeaf,
  type AwaitNode,
  CHAIN_INVOCATIONS_MAX,
  explain,
  futureFromJson,
  gatherSituations,
  readJournal,
  remediesOf,
  resolveFuture,
  type Situation,
  sentenceOf,
  type Wait,
} from "./index.js";

const NOW_MS = 100_000;
const [A, B, C, D] = [anId(1), anId(2), anId(3), anId(4)] as [InvocationId, InvocationId, InvocationId, InvocationId];

function situation(id: InvocationId, wait: Wait, status: Situation["status"] = "suspended"): Situation {
  const facts = someFacts({ id, target: objectTarget("k") });
  const route = { kind: "found", deploymentId: "dp_1", isPinned: true, retry: undefined, idleMs: 0 } as const;
  return { id, invocation: anInvocation("suspended", { facts }), status, wait, sinceMs: 90_000, route, journalIsPartial: false };
}

const call = (id: InvocationId): AwaitLeaf => ({ kind: "call", step: 1, target: "S/h", id });
const timer: AwaitLeaf = { kind: "timer", step: 1, name: "", firesAtMs: NOW_MS + 1_000 };
const cancellation: AwaitLeaf = { kind: "cancellation" };
const awakeable: AwaitLeaf = { kind: "awakeable", id: "sign_1abc" };
const node = (mode: AwaitNode["mode"], ...children: Awaited[]): AwaitNode => ({ kind: "node", mode, children, leftOut: 0 });
const awaiting = (mode: AwaitNode["mode"], ...children: Awaited[]): Wait => ({
  kind: "awaiting",
  awaiting: node(mode, ...children),
});
const lockedBy = (holder: InvocationId): Wait => ({
  kind: "objectLock",
  service: "O",
  key: "k",
  lock: { holder, isPaused: false, ahead: 0, aheadIsLeast: false },
});
const running = (open: readonly AwaitLeaf[], said?: AwaitNode): Wait => ({
  kind: "running",
  deploymentId: undefined,
  attempt: 1,
  pauseRequested: false,
  lastStep: undefined,
  awaiting: said,
  endpointAnswer: undefined,
  open,
});
const retrying: Wait = {
  kind: "retry",
  failure: SOME_ERROR,
  nextAtMs: NOW_MS + 5_000,
  attempts: 2,
  attemptsLeft: 3,
  onExhausted: "kill",
};

async function explained(waits: readonly (readonly [InvocationId, Wait])[]) {
  const situations = new Map(waits.map(([id, wait]) => [id, situation(id, wait)]));
  const root = situations.get(A);
  invariant(root !== undefined, "the explained one is the first");
  return explain(root, await gatherSituations(root, async (id) => situations.get(id)));
}

describe("circles", () => {
  test.each<[string, readonly (readonly [InvocationId, Wait])[], readonly InvocationId[] | undefined, boolean]>([
    [
      "a call and a lock",
      [
        [A, awaiting("any", call(B), cancellation)],
        [B, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "a lock that its holder's callee waits for",
      [
        [A, lockedBy(B)],
        [B, awaiting("any", call(A))],
      ],
      [A, B],
      true,
    ],
    ["itself", [[A, awaiting("any", call(A))]], [A], true],
    [
      "a circle further down, without the explained one",
      [
        [A, awaiting("any", call(B))],
        [B, lockedBy(C)],
        [C, awaiting("any", call(B))],
      ],
      [B, C],
      true,
    ],
    [
      "a way out by time",
      [
        [A, awaiting("any", call(B), timer)],
        [B, lockedBy(A)],
      ],
      undefined,
      true,
    ],
    [
      "time that is waited for as well",
      [
        [A, awaiting("all", call(B), timer)],
        [B, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "all successes, where nothing else can fail",
      [
        [A, awaiting("allSuccess", call(B), timer)],
        [B, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "all successes, where something may fail",
      [
        [A, awaiting("allSuccess", call(B), awakeable)],
        [B, lockedBy(A)],
      ],
      [A, B],
      false,
    ],
    [
      "the first success of two that never come",
      [
        [A, awaiting("firstSuccess", call(B), call(C))],
        [B, lockedBy(A)],
        [C, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "the first of two, one of which moves",
      [
        [A, awaiting("any", call(B), call(C))],
        [B, lockedBy(A)],
        [C, retrying],
      ],
      undefined,
      true,
    ],
    [
      "a nested choice",
      [
        [A, awaiting("any", node("all", call(B), timer), cancellation)],
        [B, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "a handler that reports what it awaits",
      [
        [A, running([], node("any", call(B)))],
        [B, lockedBy(A)],
      ],
      [A, B],
      true,
    ],
    [
      "a handler that does not report it",
      [
        [A, running([call(B)])],
        [B, lockedBy(A)],
      ],
      [A, B],
      false,
    ],
    [
      "a handler that does something else meanwhile",
      [
        [A, running([call(B), { kind: "run", step: 2, name: "x" }])],
        [B, lockedBy(A)],
      ],
      undefined,
      true,
    ],
    [
      "a handler without open calls",
      [
        [A, lockedBy(B)],
        [B, running([])],
      ],
      undefined,
      true,
    ],
    ["an invocation that is not stored", [[A, awaiting("any", call(D))]], undefined, true],
  ])("%s", async (_what, waits, ids, isCertain) => {
    const { deadlock } = await explained(waits);
    expect(deadlock).toEqual(ids === undefined ? undefined : { ids, isCertain });
  });

  test("a tree with omitted leaves may have a way out", async () => {
    const tree = { ...node("any", call(B)), leftOut: 1 };
    expect(
      (
        await explained([
          [A, { kind: "awaiting", awaiting: tree }],
          [B, lockedBy(A)],
        ])
      ).deadlock,
    ).toBeUndefined();
  });
});

describe("the chain", () => {
  test("follows the first unfinished invocation, and ends at one that waits for no other", async () => {
    const { chain } = await explained([
      [A, awaiting("all", call(B), call(C))],
      [B, { kind: "invokerSlot" }],
      [C, lockedBy(D)],
      [D, retrying],
    ]);
    expect(chain.map(({ relation, id }) => [relation, id])).toEqual([
      ["asked", A],
      ["call", B],
    ]);
  });

  test("stops at the bounds, and reads each invocation once, however many paths lead to it", async () => {
    const ids = Array.from({ length: 3 * CHAIN_INVOCATIONS_MAX }, (_, n) => anId(n + 1));
    const reads: InvocationId[] = [];
    const next = (id: InvocationId) => ids[ids.indexOf(id) + 1] as InvocationId;
    const root = situation(A, lockedBy(B));
    const situations = await gatherSituations(root, async (id) => {
      reads.push(id);
      return situation(id, awaiting("all", call(next(id)), call(next(id)), call(A)));
    });
    expect(situations.size).toBeLessThanOrEqual(CHAIN_INVOCATIONS_MAX);
    expect(new Set(reads).size).toBe(reads.length);
    expect(explain(root, situations).chainIsCut).toBe(true);
  });

  test("ends with an invocation that is not stored", async () => {
    const explanation = await explained([[A, awaiting("any", call(B))]]);
    expect(explanation.chain.at(-1)).toEqual({ relation: "call", id: B, situation: undefined });
    expect(sentenceOf(explanation, NOW_MS)).toContain(`The last invocation of this chain is ${B}, which is not stored`);
  });
});

describe("the sentence", () => {
  test("names a few awaited things, counts the rest, and states how they combine", async () => {
    const say = async (wait: Wait) => sentenceOf(await explained([[A, wait]]), NOW_MS);
    expect(await say(awaiting("any", cancellation))).toContain("waits for a cancellation only");
    expect(await say(awaiting("any", node("any", timer, awakeable), cancellation))).toContain(
      "the first of a timer that fires at",
    );
    expect(await say(awaiting("all", timer, timer, timer, awakeable, awakeable))).toMatch(/all of a timer .+ and 2 more\.$/);
    expect(await say(awaiting("any", node("all", timer, awakeable), awakeable))).toContain("a combination of");
    expect(await say(retrying)).toMatch(
      /^Attempt 2 failed with RT0007 \[500\] "no luck"; .+ \(in 5s\) \(3 attempts left, then it fails\)\.$/,
    );
    const message = "Feature 'scope' is not supported by the negotiated protocol version: v6";
    expect(await say({ ...retrying, failure: { ...SOME_ERROR, code: 573, message } })).toMatch(
      /raise worker\.invoker\.max-protocol-version \(to 7\)\.$/,
    );
    const silent = { ...running([]), kind: "running", endpointAnswer: "headers" } as Wait;
    expect(await say(silent)).toMatch(/; its endpoint has sent response headers, and the SDK no message yet\.$/);
    expect(await say({ kind: "delayedStart", startsAtMs: Number.MAX_SAFE_INTEGER })).toContain("the end of time");
  });

  test.each<[string, Wait, string]>([
    [
      "paused by request",
      { kind: "paused", failure: undefined },
      "It has been paused for 10s by request; it continues when it is resumed.",
    ],
    [
      "paused after a failure",
      { kind: "paused", failure: SOME_ERROR },
      'It has been paused for 10s after a failed attempt (RT0007 [500] "no luck"), by its retry policy or by request; it continues when it is resumed.',
    ],
    [
      "waiting for a slot of the worker",
      { kind: "invokerSlot" },
      "It is ready to run and has waited for 10s for a slot of its worker: all slots are in use, or its endpoint accepts no more streams. It starts when another attempt ends.",
    ],
    [
      "next in the queue of an object",
      { kind: "objectLock", service: "O", key: "k", lock: { holder: undefined, isPaused: false, ahead: 0, aheadIsLeast: false } },
      "It has waited for 10s for the lock of the object O/k. It is the next in the queue.",
    ],
    [
      "in the paused queue of an object",
      { kind: "objectLock", service: "O", key: "k", lock: { holder: undefined, isPaused: true, ahead: 2, aheadIsLeast: true } },
      "It has waited for 10s for the lock of the object O/k. The queue of the object is paused: no invocation starts until the queue is resumed. At least 2 invocations are ahead of it in the queue.",
    ],
    [
      "retrying without a limit",
      { ...retrying, nextAtMs: undefined, attemptsLeft: undefined, failure: { ...SOME_ERROR, errorCode: "RT0010" } } as Wait,
      'Attempt 2 failed with RT0010 [500] "no luck"; the next one starts as soon as the failed one has ended and a slot is free (its retry policy does not limit attempts). The connection to its endpoint failed.',
    ],
    [
      "waiting for an awakeable or a signal",
      awaiting("any", awakeable, { kind: "signal", name: "go" }),
      "It has been suspended for 10s and waits for the first of the awakeable sign_1abc, which a client or another handler must complete or the signal 'go', which a client or another handler must send.",
    ],
  ])("uses the terms of the field: %s", async (_what, wait, sentence) => {
    const explanation = await explained([[A, wait]]);
    expect(sentenceOf(explanation, NOW_MS)).toBe(sentence);
    for (const { effect } of remediesOf(explanation))
      expect(effect).not.toMatch(/\b(?:somebody|nobody|goes on|asks?|asking|tells?)\b/);
  });

  test("lists the least intrusive remedy first, and none for a completed invocation", async () => {
    const requests = async (wait: Wait) => remediesOf(await explained([[A, wait]])).map(({ request }) => request);
    expect(await requests({ kind: "paused", failure: undefined })).toEqual([
      `PATCH /invocations/${A}/resume`,
      `PATCH /invocations/${A}/cancel`,
      `PATCH /invocations/${A}/kill`,
    ]);
    const outcome = { kind: "success", value: new Uint8Array() } as const;
    expect(await requests({ kind: "completed", outcome, expiresAtMs: undefined })).toEqual([]);
  });
});

describe("awaited trees", () => {
  const future = (change: Partial<Future>): Future => ({
    completions: [],
    signalIndexes: [],
    signalNames: [],
    nested: [],
    combinator: "firstCompleted",
    ...change,
  });
  const EMPTY = readJournal([]);

  test("completions that the journal does not have are unknown, and signals are named", () => {
    const tree = future({
      completions: [7],
      signalIndexes: [1, 5],
      signalNames: ["go"],
      nested: [future({ combinator: "allCompleted" })],
    });
    expect(resolveFuture(tree, A, EMPTY)).toEqual({
      kind: "node",
      mode: "any",
      leftOut: 0,
      children: [
        { kind: "unknown", completionId: 7 },
        { kind: "cancellation" },
        { kind: "signal", name: "#5" },
        { kind: "signal", name: "go" },
      ],
    });
  });

  test("are cut at the bound, with the number of omitted leaves", () => {
    const completions = Array.from({ length: AWAITED_LEAVES_MAX + 5 }, (_, id) => id);
    expect(resolveFuture(future({ completions }), A, EMPTY)).toMatchObject({
      leftOut: 5,
      children: { length: AWAITED_LEAVES_MAX },
    });
  });

  test("are parsed from the JSON that introspection writes", () => {
    const text =
      '{"AllCompleted":[{"Single":{"CompletionId":1}},{"Unknown":[{"Single":{"SignalName":"a"}},{"Single":{"SignalIndex":17}}]}]}';
    expect(futureFromJson(text)).toEqual(
      future({
        combinator: "allCompleted",
        completions: [1],
        nested: [future({ combinator: "unknown", signalNames: ["a"], signalIndexes: [17] })],
      }),
    );
    for (const other of ["null", "7", "[]", '{"Other":[]}', '{"Unknown":3}']) expect(futureFromJson(other)).toBeUndefined();
  });
});

test("a full scope is named with its rule, with a note that waiting handlers keep their slots", async () => {
  const level = { name: "acme", rule: "acme", used: 2, limit: 2, waiting: 5, nextAtMs: undefined, isFull: true };
  const flow = { scope: "acme", limitKey: undefined, levels: [level], isQueuePaused: false, place: 3 };
  expect(sentenceOf(await explained([[A, { kind: "limit", flow }]]), NOW_MS)).toMatch(
    /for a slot of 'acme', where 2 of 2 slots are in use \(rule 'acme'\) and 5 invocations wait, at position 3 of its queue; it starts when a running one ends, suspends or is paused, or the limit of the rule is raised\. A handler that waits keeps its slot until it suspends\.$/,
  );
});
