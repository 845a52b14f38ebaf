import { describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import { MessageType, notificationIdOf } from "@perdure/service-protocol";
import type { TimerKey } from "../command.js";
import type { JournalEntry } from "../entry.js";
import { brokenInvariants } from "../invariants.js";
import type { InvocationFacts } from "../invocation.js";
import {
  anId,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  runOf,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const sleep = (dueAtMs: number, sequence = 1): TimerKey => ({ dueAtMs, kind: "sleep", id: ID, sequence });

/** An invocation that sleeps under completion 1 until 60 s, and is suspended. */
function sleeping(change: Partial<InvocationFacts> = {}): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, ...change })));
  partition.play(sleepOf(ID, 1, 1, 60_000));
  partition.play(suspendOf(ID, 1, [1]));
  return partition;
}

const fire = (partition: MemoryPartition, timer: TimerKey) => partition.play({ kind: "timerFired", id: timer.id, timer });

describe("a timer that fires", () => {
  test("resumes the sleeping invocation once: the second firing has no timer and changes nothing", () => {
    const partition = sleeping();
    const { effects } = fire(partition, sleep(60_000));
    expect(effects.map((effect) => effect.kind)).toEqual(["startRun"]);
    expect(partition.entry(ID, 2)?.type).toBe(MessageType.SleepCompletion);
    expect(fire(partition, sleep(60_000))).toEqual({ mutations: [], effects: [], sent: [] });
  });

  test("is pushed to a handler that runs and kept by one that is paused", () => {
    const running = new MemoryPartition();
    running.play(invokeOf(someFacts({ id: ID })));
    running.play(sleepOf(ID, 1, 1, 60_000));
    expect(fire(running, sleep(60_000)).effects).toMatchObject([
      { kind: "entryStored", index: 2, delivery: { kind: "push", thenAck: undefined } },
    ]);

    const paused = new MemoryPartition();
    paused.play(invokeOf(someFacts({ id: ID })));
    paused.play(sleepOf(ID, 1, 1, 60_000));
    paused.play(failOf(ID, 1, "pause"));
    expect(fire(paused, sleep(60_000)).effects).toEqual([]);
    expect(paused.invocation(ID)).toMatchObject({ status: "paused", journal: { length: 3 } });
  });

  test("is ignored when its invocation has ended or was deleted", () => {
    for (const verbs of [["kill"], ["kill", "purge"]] as const) {
      const partition = sleeping();
      for (const kind of verbs) partition.play({ kind, id: ID });
      const { mutations } = fire(partition, sleep(60_000));
      expect(mutations).toEqual([{ kind: "deleteTimer", timer: sleep(60_000) }]);
    }
  });

  test("starts a delayed invocation, or queues it behind the holder of its object", () => {
    const partition = new MemoryPartition();
    const target = objectTarget("k");
    partition.play(invokeOf(someFacts({ id: anId(9), target })));
    for (const id of [ID, anId(2)]) partition.play(invokeOf(someFacts({ id, target, executionTimeMs: 5_000 })));
    const start: TimerKey = { dueAtMs: 5_000, kind: "start", id: ID, sequence: 0 };
    fire(partition, start);
    expect(partition.invocation(ID)).toMatchObject({ status: "inboxed", inboxSeq: 0 });
    partition.play({ kind: "kill", id: anId(9) });
    expect(partition.invocation(ID)?.status).toBe("invoked");
    fire(partition, start);
    expect(partition.invocation(ID)?.run).toBe(1);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("deletes the retained journal first, then the record", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, journalRetentionMs: 10_000 })));
    partition.play(outputOf(ID, 1, "out"));
    partition.play(endOf(ID, 1));
    fire(partition, { dueAtMs: 11_000, kind: "purgeJournal", id: ID, sequence: 0 });
    expect(partition.invocation(ID)).toMatchObject({ status: "completed", journal: { length: 0 } });
    expect(partition.entries.size).toBe(0);
    fire(partition, { dueAtMs: 61_000, kind: "purge", id: ID, sequence: 0 });
    expect([partition.invocations.size, partition.timers.size]).toEqual([0, 0]);
  });

  test("deletes a workflow's state and promises along with its run", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("w") })));
    partition.play(setStateOf(ID, 1, "s", "v"));
    partition.mutate({ kind: "putPromise", service: "W", key: "w", name: "p", promise: { kind: "pending", listeners: [] } });
    partition.play({ kind: "kill", id: ID });
    expect(partition.stateOf("W", "w").size).toBe(1);
    fire(partition, { dueAtMs: 61_000, kind: "purge", id: ID, sequence: 0 });
    expect(partition.stateOf("W", "w").size + partition.promisesOf("W", "w").length).toBe(0);
  });
});

describe("many sleeps of one workflow", () => {
  class CountingPartition extends MemoryPartition {
    reads = 0;
    override entry(id: InvocationId, index: number): JournalEntry | undefined {
      this.reads++;
      return super.entry(id, index);
    }
  }

  const SLEEPS = 500;
  const MOST_READS = 8;
  const dueAtMs = (n: number): number => 60_000 + n;

  test.each([
    ["made together, the first that fires is the oldest", (n: number): number => n],
    ["made together, the first that fires is the newest", (n: number): number => SLEEPS + 1 - n],
  ] as const)("%s: each is found after a few reads, however many there are", (_, order) => {
    const partition = new CountingPartition();
    partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("w") })));
    for (let n = 1; n <= SLEEPS; n++) partition.play(sleepOf(ID, 1, n, dueAtMs(n)));
    for (let n = 1; n <= SLEEPS; n++) {
      partition.reads = 0;
      const { effects } = fire(partition, sleep(dueAtMs(order(n)), order(n)));
      expect(effects).toMatchObject([{ kind: "entryStored", index: SLEEPS + n }]);
      expect(partition.reads).toBeLessThanOrEqual(MOST_READS);
    }
  });

  test("one after the other, whose numbers differ from their places, are found from the newest back", () => {
    const partition = new CountingPartition();
    partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("w") })));
    for (let n = 1; n <= SLEEPS; n++) {
      partition.play(sleepOf(ID, 1, n, dueAtMs(n)));
      partition.reads = 0;
      expect(fire(partition, sleep(dueAtMs(n), n)).effects).toHaveLength(1);
      expect(partition.reads).toBeLessThanOrEqual(MOST_READS);
    }
  });

  test("are found at any place", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("w") })));
    const odd = (n: number): number => (n * 37) % 101; // Every number below 101 but 0 once, and in no order.
    for (let n = 1; n <= 100; n++) partition.play(sleepOf(ID, 1, odd(n), dueAtMs(n)));
    for (let n = 1; n <= 100; n++) expect(fire(partition, sleep(dueAtMs(n), odd(n))).effects).toHaveLength(1);
    expect(partition.invocation(ID)?.journal.notifications).toBe(100);
  });
});

describe("an id that is used again", () => {
  const first = { target: workflowTarget("w"), createdAtMs: 1_000 };

  /** The sleep of a former generation is still stored when the workflow runs a second time. */
  function secondGeneration(): MemoryPartition {
    const partition = sleeping(first);
    partition.play({ kind: "kill", id: ID });
    partition.play({ kind: "purge", id: ID });
    partition.nowMs = 30_000;
    partition.play(invokeOf(someFacts({ ...first, id: ID, createdAtMs: 30_000 })));
    return partition;
  }

  test("does not wake from the sleep of its former generation", () => {
    const partition = secondGeneration();
    partition.play(runOf(ID, 1, 1)); // The same completion id belongs to another command now.
    expect(fire(partition, sleep(60_000)).mutations).toEqual([{ kind: "deleteTimer", timer: sleep(60_000) }]);
    expect(partition.invocation(ID)?.journal.notifications).toBe(0);
  });

  test("does not wake early although it sleeps under the same number", () => {
    const partition = secondGeneration();
    partition.play(sleepOf(ID, 1, 1, 90_000));
    partition.play(suspendOf(ID, 1, [1]));
    fire(partition, sleep(60_000));
    expect(partition.invocation(ID)?.status).toBe("suspended");
    fire(partition, sleep(90_000));
    const entry = partition.entry(ID, 2);
    expect(notificationIdOf(entry?.type ?? 0, entry?.body ?? new Uint8Array(0))).toEqual({ kind: "completion", id: 1 });
    expect(partition.invocation(ID)?.status).toBe("invoked");
  });

  test("gets no completions from the callees of its former generation", () => {
    const partition = new MemoryPartition();
    const facts = someFacts({ id: ID, idempotencyKey: "once", createdAtMs: 1_000 });
    partition.play(invokeOf(facts));
    const waiting = someFacts({ id: anId(5) });
    const sink = { kind: "call", callerId: ID, callerGeneration: 1_000, completionId: 2 } as const;
    partition.play(invokeOf(waiting, sink));
    partition.play(invokeOf(someFacts({ id: anId(6) }), { ...sink, callerGeneration: 30_000 }));
    partition.play({ kind: "kill", id: ID });
    partition.play({ kind: "purge", id: ID });
    partition.play(invokeOf({ ...facts, createdAtMs: 30_000 }));
    partition.playAll({ kind: "kill", id: anId(5) });
    expect(partition.invocation(ID)?.journal.notifications).toBe(0);
    partition.playAll({ kind: "kill", id: anId(6) });
    expect(partition.invocation(ID)?.journal.notifications).toBe(1);
  });
});
