/** Invocations that wait for slots: every status and verb, and queues that are paused, of scopes and of objects. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, utf8 } from "@perdure/base";
import { voidResult } from "@perdure/service-protocol";
import type { PartitionCommand } from "../command.js";
import type { CommandAnswer, Effect } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import type { Invocation, InvocationFacts } from "../invocation.js";
import { keyspaceOf, parseKeyspace } from "../target.js";
import {
  anId,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  scopedTarget,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "../testing/index.js";
import { queueOfLock, queueOfScope, routeOfQueue } from "./queue.js";

const ID = anId(1);
const target = { ...scopedTarget("s1"), scope: "s1" };
const BUCKETS = [{ name: "s1", bookedUntilMicros: 7 }];
const admit: PartitionCommand = { kind: "admit", id: ID, buckets: BUCKETS };

type Waiting = "inboxed" | "ready";

function gated(): MemoryPartition {
  const partition = new MemoryPartition();
  partition.gates.add("s1");
  return partition;
}

/** An invocation of scope s1 that waits for its first slot, or for one to continue after a suspension. */
function waiting(status: Waiting, change: Partial<InvocationFacts> = {}): MemoryPartition {
  const partition = gated();
  partition.play(invokeOf(someFacts({ id: ID, target, limitKey: "a", ...change })));
  if (status === "ready") {
    partition.play(admit);
    partition.play(pinOf(ID, 1));
    partition.play(sleepOf(ID, 1, 1, 60_000));
    partition.play(suspendOf(ID, 1, [1]));
    partition.nowMs = 60_000;
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 60_000, kind: "sleep", id: ID, sequence: 1 } });
    partition.buckets.clear();
  }
  expect(partition.invocation(ID)?.status).toBe(status);
  expect(brokenInvariants(partition.snapshot())).toEqual([]);
  return partition;
}

const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);

describe("a scoped invocation", () => {
  test("starts at once where no rule limits it, and reports the slot", () => {
    const partition = new MemoryPartition();
    const { effects } = partition.play(invokeOf(someFacts({ id: ID, target })));
    expect(kinds(effects)).toEqual(["takeSlot", "startRun", "reply"]);
    expect(kinds(partition.play(suspendOf(ID, 1, [1])).effects)).toEqual(["stopRun", "releaseSlot"]);
    expect(partition.invocation(ID)?.status).toBe("suspended");
  });

  test("without a scope has no effects on slots", () => {
    const partition = new MemoryPartition();
    const { effects } = partition.play(invokeOf(someFacts({ id: ID })));
    expect(kinds(effects)).toEqual(["startRun", "reply"]);
    partition.play(outputOf(ID, 1, "out"));
    expect(kinds(partition.play(endOf(ID, 1)).effects)).toEqual(["stopRun", "announce", "armTimer"]);
  });

  test("waits for a slot where a rule limits it, also when it was delayed or restarted", () => {
    const partition = waiting("inboxed");
    expect(partition.invocation(ID)).toMatchObject({ waitsFor: "slot", run: 0, milestones: { inboxedAtMs: 1_000 } });
    const delayed = gated();
    const facts = someFacts({ id: ID, target, executionTimeMs: 5_000 });
    delayed.play(invokeOf(facts));
    delayed.nowMs = 5_000;
    const timer = { dueAtMs: 5_000, kind: "start", id: ID, sequence: 0 } as const;
    expect(kinds(delayed.play({ kind: "timerFired", id: ID, timer }).effects)).toEqual(["requestSlot"]);
    partition.play(admit);
    partition.play(outputOf(ID, 1, "out"));
    partition.play(endOf(ID, 1));
    const newId = anId(2);
    partition.play({ kind: "restartAsNew", id: ID, newId, from: 0, moveTo: undefined, keepDeployment: true });
    expect(partition.invocation(newId)).toMatchObject({ status: "inboxed", waitsFor: "slot", facts: { limitKey: "a", target } });
  });

  test("continues from a suspension and a pause only with a slot", () => {
    const partition = waiting("ready");
    expect(partition.invocation(ID)).toMatchObject({ readyAtMs: 60_000, run: 1 });
    const { effects } = partition.play(admit);
    expect(kinds(effects)).toEqual(["takeSlot", "startRun"]);
    partition.play(failOf(ID, 2, "pause"));
    expect(kinds(partition.play({ kind: "resume", id: ID, moveTo: undefined }).effects)).toEqual(["requestSlot", "reply"]);
    expect(partition.invocation(ID)?.status).toBe("ready");
  });

  test("that holds an object's lock needs no slot beside it", () => {
    const partition = gated();
    const exclusive = { ...objectTarget("k"), scope: "s1" };
    expect(kinds(partition.play(invokeOf(someFacts({ id: ID, target: exclusive }))).effects)).toEqual(["startRun", "reply"]);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });
});

describe("an admission", () => {
  test.each<Waiting>(["inboxed", "ready"])("starts who is %s, and stores its buckets with the start", (status) => {
    const partition = waiting(status);
    const { effects, mutations } = partition.play(admit);
    expect(kinds(effects)).toEqual(["takeSlot", "startRun"]);
    expect(mutations.map(({ kind }) => kind)).toEqual(["putBucket", "putInvocation"]);
    expect(partition.buckets.get("s1")).toBe(7);
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: status === "ready" ? 2 : 1 });
    expect(kinds(partition.play(admit).effects)).toEqual(["slotUnused"]);
  });

  test("of an invocation that is deleted, paused, suspended or completed returns the slot and stores nothing", () => {
    const states: ((partition: MemoryPartition) => void)[] = [
      (partition) => partition.play({ kind: "kill", id: ID }),
      (partition) => partition.play({ kind: "pause", id: ID }),
      (partition) => {
        partition.play(admit);
        partition.play(suspendOf(ID, 2, [9]));
        partition.buckets.clear();
      },
    ];
    for (const change of states) {
      const partition = waiting("ready");
      change(partition);
      const { effects, mutations } = partition.play(admit);
      expect(kinds(effects)).toEqual(["slotUnused"]);
      expect(mutations).toEqual([]);
    }
    expect(kinds(new MemoryPartition().play(admit).effects)).toEqual(["slotUnused"]);
  });

  test("that meets a pause of the queue returns the slot, and its invocation continues waiting", () => {
    const partition = waiting("inboxed");
    const queue = queueOfScope(target, "a");
    partition.play({ kind: "pauseQueue", id: routeOfQueue(queue), queue });
    expect(kinds(partition.play(admit).effects)).toEqual(["slotUnused"]);
    expect(partition.invocation(ID)?.status).toBe("inboxed");
  });
});

describe("verbs", () => {
  const table: Readonly<
    Record<
      string,
      Readonly<Record<Waiting, readonly [CommandAnswer["kind"], Invocation["status"] | "absent", "withdraw" | undefined]>>
    >
  > = {
    cancel: { inboxed: ["done", "absent", "withdraw"], ready: ["pending", "ready", undefined] },
    kill: { inboxed: ["done", "absent", "withdraw"], ready: ["done", "completed", "withdraw"] },
    pause: { inboxed: ["notRunning", "inboxed", undefined], ready: ["done", "paused", "withdraw"] },
    resume: { inboxed: ["notStarted", "inboxed", undefined], ready: ["done", "ready", undefined] },
    restartAsNew: { inboxed: ["notStarted", "inboxed", undefined], ready: ["stillRunning", "ready", undefined] },
    purge: { inboxed: ["notCompleted", "inboxed", undefined], ready: ["notCompleted", "ready", undefined] },
    purgeJournal: { inboxed: ["notCompleted", "inboxed", undefined], ready: ["notCompleted", "ready", undefined] },
  };
  const commands: Readonly<Record<string, PartitionCommand>> = {
    cancel: { kind: "cancel", id: ID },
    kill: { kind: "kill", id: ID },
    pause: { kind: "pause", id: ID },
    resume: { kind: "resume", id: ID, moveTo: undefined },
    restartAsNew: { kind: "restartAsNew", id: ID, newId: anId(2), from: 0, moveTo: undefined, keepDeployment: true },
    purge: { kind: "purge", id: ID },
    purgeJournal: { kind: "purgeJournal", id: ID },
  };
  const cells = Object.keys(table).flatMap((verb) => (["inboxed", "ready"] as const).map((status) => [verb, status] as const));

  test.each(cells)("%s of an invocation that is %s", (verb, status) => {
    const [answer, after, withdraw] = (table[verb] as (typeof table)[string])[status];
    const partition = waiting(status);
    const { effects } = partition.play(commands[verb] as PartitionCommand);
    expect(effects.find((effect) => effect.kind === "reply")?.answer.kind).toBe(answer);
    expect(partition.invocation(ID)?.status ?? "absent").toBe(after);
    expect(kinds(effects).filter((kind) => kind === "withdraw")).toEqual(withdraw === undefined ? [] : ["withdraw"]);
    expect(kinds(effects)).not.toContain("releaseSlot");
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("signals for a ready invocation wait in its journal; moving it changes where it will run", () => {
    const partition = waiting("ready");
    const { length = 0 } = partition.invocation(ID)?.journal ?? {};
    partition.play({ kind: "signal", id: ID, signal: { kind: "signalName", name: "n" }, result: voidResult });
    expect(partition.invocation(ID)).toMatchObject({ status: "ready", journal: { length: length + 1 } });
    const moveTo = "dp_other" as never;
    partition.play({ kind: "resume", id: ID, moveTo });
    expect(partition.invocation(ID)).toMatchObject({ status: "ready", pinned: { deploymentId: "dp_other" } });
  });

  test("the end of a run frees the slot, once, whatever ends it", () => {
    const ways: ((partition: MemoryPartition) => readonly Effect[])[] = [
      (partition) => partition.play(suspendOf(ID, 1, [9])).effects,
      (partition) => partition.play(failOf(ID, 1, "pause")).effects,
      (partition) => partition.play(failOf(ID, 1, "kill")).effects,
      (partition) => partition.play({ kind: "kill", id: ID }).effects,
      (partition) => {
        partition.play(outputOf(ID, 1, "out"));
        return partition.play(endOf(ID, 1)).effects;
      },
      (partition) => {
        partition.play({ kind: "pause", id: ID });
        return partition.play(suspendOf(ID, 1, [9])).effects;
      },
    ];
    for (const leave of ways) {
      const partition = waiting("inboxed");
      partition.play(admit);
      expect(kinds(leave(partition)).filter((kind) => kind.endsWith("Slot"))).toEqual(["releaseSlot"]);
    }
    const partition = waiting("inboxed");
    partition.play(admit);
    expect(kinds(partition.play(failOf(ID, 1, "retry")).effects)).toEqual([]);
    expect(kinds(partition.play(suspendOf(ID, 1, [9], { satisfied: true })).effects)).toEqual(["stopRun", "startRun"]);
  });
});

describe("a scoped workflow", () => {
  test("keeps state and promises apart from the workflow of the same key outside, and they are deleted with it", () => {
    const partition = new MemoryPartition();
    const inside = workflowTarget("w", "workflow", "s1");
    partition.play(invokeOf(someFacts({ id: ID, target: inside, completionRetentionMs: 0 })));
    partition.play(invokeOf(someFacts({ id: anId(2), target: workflowTarget("w") })));
    partition.play(setStateOf(ID, 1, "k", "inside"));
    partition.play(setStateOf(anId(2), 1, "k", "outside"));
    expect(partition.state("W@s1", "w", "k")).toEqual(utf8("inside"));
    expect(partition.state("W", "w", "k")).toEqual(utf8("outside"));
    partition.play(outputOf(ID, 1, "out"));
    partition.play(endOf(ID, 1));
    expect(partition.state("W@s1", "w", "k")).toBeUndefined();
    expect(partition.state("W", "w", "k")).toEqual(utf8("outside"));
  });

  test("has a keyspace that depends on service and scope", () => {
    for (const scope of [undefined, "s1"]) {
      expect(parseKeyspace(keyspaceOf(workflowTarget("w", "workflow", scope)))).toEqual({ service: "W", scope });
    }
  });
});

describe("a paused queue", () => {
  const lockQueue = queueOfLock("O", "k");
  const id = routeOfQueue(lockQueue);
  const pause: PartitionCommand = { kind: "pauseQueue", id, queue: lockQueue };
  const resume: PartitionCommand = { kind: "resumeQueue", id, queue: lockQueue };
  const object = (n: number): InvocationId => anId(n);
  const call = (n: number): PartitionCommand => invokeOf(someFacts({ id: object(n), target: objectTarget("k") }));
  const finish = (partition: MemoryPartition, n: number): void => {
    partition.play(outputOf(object(n), 1, "out"));
    partition.play(endOf(object(n), 1));
  };
  const statuses = (partition: MemoryPartition, ...ns: number[]): (string | undefined)[] =>
    ns.map((n) => partition.invocation(object(n))?.status);

  test("of an object lets the holder continue and starts no other until it is resumed", () => {
    const partition = new MemoryPartition();
    partition.play(call(1));
    partition.play(call(2));
    partition.play(pause);
    finish(partition, 1);
    partition.play(call(3));
    expect(statuses(partition, 1, 2, 3)).toEqual(["completed", "inboxed", "inboxed"]);
    expect(partition.lock("O", "k")).toEqual({ holder: undefined, head: 0, tail: 2 });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    partition.play(resume);
    expect(statuses(partition, 2, 3)).toEqual(["invoked", "inboxed"]);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    finish(partition, 2);
    finish(partition, 3);
    expect(partition.locks.size + partition.pauses.size).toBe(0);
  });

  test("of an object without holder keeps calls and edits of its state waiting", () => {
    const partition = new MemoryPartition();
    expect(partition.play(pause).effects).toMatchObject([{ kind: "queueSwitched", paused: true }, { answer: { kind: "done" } }]);
    expect(kinds(partition.play(pause).effects)).toEqual(["reply"]);
    const entries = [{ key: "x", value: utf8("1") }];
    const edit = {
      kind: "mutateState",
      id,
      service: "O",
      key: "k",
      exclusive: true,
      expectedVersion: undefined,
      entries,
    } as const;
    expect(partition.play(edit).effects).toMatchObject([{ answer: { kind: "pending" } }]);
    partition.play(call(1));
    expect(partition.state("O", "k", "x")).toBeUndefined();
    expect(statuses(partition, 1)).toEqual(["inboxed"]);
    partition.play({ kind: "kill", id: object(1) });
    partition.play(call(2));
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    partition.play(resume);
    expect(partition.state("O", "k", "x")).toEqual(utf8("1"));
    expect(statuses(partition, 2)).toEqual(["invoked"]);
    expect(kinds(partition.play(resume).effects)).toEqual(["reply"]);
  });

  test("of an object whose waiting entries all left leaves no rows when it is resumed", () => {
    const partition = new MemoryPartition();
    partition.play(pause);
    partition.play(call(1));
    partition.play({ kind: "kill", id: object(1) });
    partition.play(resume);
    expect(partition.locks.size + partition.inboxes.size + partition.pauses.size).toBe(0);
  });

  test("of a scope keeps its calls waiting where no rule limits them, and other limit keys continue", () => {
    const partition = new MemoryPartition();
    const queue = queueOfScope(target, "a");
    partition.play({ kind: "pauseQueue", id: routeOfQueue(queue), queue });
    partition.play(invokeOf(someFacts({ id: ID, target, limitKey: "a" })));
    partition.play(invokeOf(someFacts({ id: anId(2), target, limitKey: "b" })));
    expect(statuses(partition, 1, 2)).toEqual(["inboxed", "invoked"]);
  });

  test("is stored up to a bound", () => {
    const partition = new MemoryPartition();
    for (let n = 0; n < 10_000; n++) partition.pauses.set(queueOfLock("O", `${n}`), { pausedAtMs: 0, lock: undefined });
    expect(partition.play(pause).effects).toMatchObject([{ answer: { kind: "tooManyPauses" } }]);
    expect(partition.pauses.size).toBe(10_000);
  });
});
