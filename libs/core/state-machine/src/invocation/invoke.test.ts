import { describe, expect, test } from "@jest/globals";
import { decodeNotification, MessageType } from "@perdure/service-protocol";
import { brokenInvariants } from "../invariants.js";
import type { InvocationFacts, Sink } from "../invocation.js";
import {
  anId,
  anInvocation,
  endOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  someFacts,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const CALLER = anId(9);
const sink = (completionId: number, kind: Sink["kind"] = "call"): Sink => ({
  kind,
  callerId: CALLER,
  callerGeneration: undefined,
  completionId,
});

function finished(change: Partial<InvocationFacts> = {}): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, ...change })));
  partition.play(outputOf(ID, 1, "out"));
  partition.play(endOf(ID, 1));
  return partition;
}

const replies = (partition: MemoryPartition, command: Parameters<MemoryPartition["play"]>[0]) =>
  partition.play(command).effects.flatMap((effect) => (effect.kind === "reply" ? [effect.answer.kind] : []));

describe("a new invocation", () => {
  test("is stored with its Input and handed to the invoker with the journal it was just given", () => {
    const partition = new MemoryPartition();
    const command = invokeOf(someFacts({ id: ID }));
    const { effects, sent } = partition.play(command);
    expect(effects.map((effect) => effect.kind)).toEqual(["startRun", "reply"]);
    expect(effects[0]).toMatchObject({
      invocation: { run: 1, journal: { length: 1, commands: 1 } },
      firstEntries: [{ type: MessageType.Input, body: command.input }],
    });
    expect(effects[1]).toEqual({ kind: "reply", answer: { kind: "accepted" } });
    expect(sent).toEqual([]);
    expect(partition.invocation(ID)?.milestones).toEqual({
      scheduledAtMs: undefined,
      inboxedAtMs: undefined,
      runningAtMs: 1_000,
      completedAtMs: undefined,
    });
  });

  test("waits for its time when it is delayed, and only then for its object", () => {
    const partition = new MemoryPartition();
    const { effects } = partition.play(invokeOf(someFacts({ id: ID, target: objectTarget("k"), executionTimeMs: 5_000 })));
    expect(effects.map((effect) => effect.kind)).toEqual(["armTimer", "reply"]);
    expect(partition.invocation(ID)).toMatchObject({ status: "scheduled", milestones: { scheduledAtMs: 1_000 } });
    expect(partition.lock("O", "k")).toBeUndefined();
  });

  test.each([1_000, 999, 0])("with a time that has passed (%i) starts at once", (executionTimeMs) => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, executionTimeMs })));
    expect(partition.invocation(ID)?.status).toBe("invoked");
    expect(partition.timers.size).toBe(0);
  });

  test("of an exclusive handler takes the lock or joins the inbox, in order of arrival", () => {
    const partition = new MemoryPartition();
    const target = objectTarget("k");
    for (const n of [1, 2, 3]) partition.play(invokeOf(someFacts({ id: anId(n), target })));
    expect(partition.lock("O", "k")).toEqual({ holder: anId(1), head: 0, tail: 2 });
    expect(partition.invocation(anId(2))).toMatchObject({ status: "inboxed", inboxSeq: 0, milestones: { inboxedAtMs: 1_000 } });
    expect(partition.invocation(anId(3))).toMatchObject({ status: "inboxed", inboxSeq: 1 });
  });

  test.each([objectTarget("k", "shared"), objectTarget("other"), workflowTarget("k"), workflowTarget("k", "shared")])(
    "of $service/$key/$handler ($handlerType) does not wait for a lock held on O/k",
    (target) => {
      const partition = new MemoryPartition();
      partition.play(invokeOf(someFacts({ id: anId(2), target: objectTarget("k") })));
      partition.play(invokeOf(someFacts({ id: ID, target })));
      expect(partition.invocation(ID)?.status).toBe("invoked");
    },
  );

  test("keeps its caller", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID }), sink(2)));
    expect(partition.invocation(ID)?.sinks).toEqual([sink(2)]);
  });
});

describe("the same id again", () => {
  const keyed = { idempotencyKey: "once", requestId: 7 };

  test("from the same sender is accepted as before and changes nothing", () => {
    const partition = new MemoryPartition();
    const command = { ...invokeOf(someFacts({ id: ID, requestId: 7 })), resubmission: true } as const;
    partition.play(command);
    const again = partition.play(command);
    expect(again.mutations).toEqual([]);
    expect(again.effects).toEqual([{ kind: "reply", answer: { kind: "accepted" } }]);
  });

  test("from the same sender, after the end, gets the outcome that was missed", () => {
    const partition = finished({ requestId: 7 });
    const { effects } = partition.play({ ...invokeOf(someFacts({ id: ID, requestId: 7 })), resubmission: true });
    expect(effects).toMatchObject([
      { kind: "reply", answer: { kind: "accepted" } },
      { kind: "announce", outcome: { kind: "success" } },
    ]);
  });

  test("with the same idempotency key from another caller attaches to the first", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, ...keyed })));
    expect(replies(partition, invokeOf(someFacts({ id: ID, ...keyed, requestId: 8 })))).toEqual(["previouslyAccepted"]);
    expect(partition.invocation(ID)?.run).toBe(1);
  });

  test("with an idempotency key attaches a caller while it runs, and answers it at once afterwards", () => {
    const running = new MemoryPartition();
    running.play(invokeOf(someFacts({ id: ID, ...keyed })));
    running.play(invokeOf(someFacts({ id: ID, ...keyed, requestId: 0 }), sink(2)));
    running.play(invokeOf(someFacts({ id: ID, ...keyed, requestId: 0 }), sink(2))); // The same caller is listed once.
    expect(running.invocation(ID)?.sinks).toEqual([sink(2)]);

    const { sent } = finished(keyed).play(invokeOf(someFacts({ id: ID, ...keyed, requestId: 0 }), sink(2)));
    expect(sent).toMatchObject([{ kind: "notify", id: CALLER, type: MessageType.CallCompletion }]);
  });

  test.each(["invoked", "completed"] as const)("of a workflow that is %s is refused to callers, 409", (status) => {
    const facts = someFacts({ id: ID, target: workflowTarget("w") });
    const partition = status === "completed" ? finished(facts) : new MemoryPartition();
    if (status === "invoked") partition.play(invokeOf(facts));
    const { sent, mutations } = partition.play(invokeOf(facts, sink(2)));
    expect(mutations).toEqual([]);
    const [notify] = sent;
    expect(notify?.kind === "notify" && decodeNotification(notify.type, notify.body)).toMatchObject({
      id: { id: 2 },
      result: { failure: { code: 409, message: "the workflow method was already invoked" } },
    });
  });

  test("creates an invocation again after its record was deleted", () => {
    const partition = finished(keyed);
    partition.play({ kind: "purge", id: ID });
    expect(replies(partition, invokeOf(someFacts({ id: ID, ...keyed })))).toEqual(["accepted"]);
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 1, journal: { length: 1 } });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("a random id that is submitted for the first time is not looked up", () => {
    const partition = new MemoryPartition();
    partition.mutate({ kind: "putInvocation", invocation: anInvocation("completed", { facts: someFacts({ id: ID }) }) });
    expect(replies(partition, invokeOf(someFacts({ id: ID })))).toEqual(["accepted"]);
    expect(replies(partition, { ...invokeOf(someFacts({ id: ID })), resubmission: true })).toEqual(["previouslyAccepted"]);
  });
});
