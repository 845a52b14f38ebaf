/** Each verb meets each status; the replies are those that the admin API maps to 200, 202, 404, 409 and 425. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, utf8 } from "@perdure/base";
import { cancelSignalIndex, decodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import type { PartitionCommand } from "../command.js";
import type { CommandAnswer } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import type { Invocation, InvocationFacts } from "../invocation.js";
import {
  anId,
  callOf,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  runOf,
  sleepOf,
  someFacts,
  suspendOf,
} from "../testing/index.js";

/** `ready` occurs only in scopes and has separate tests. */
type Status = Exclude<Invocation["status"], "ready">;
const STATUSES: readonly Status[] = ["scheduled", "inboxed", "invoked", "suspended", "paused", "completed"];
const HOLDER = anId(90);
const ID = anId(1);
const CALLER = anId(91);

/** Brings an invocation of `O/k/h` to a status by real commands, with one caller that waits for it. */
function inStatus(status: Status | "absent", change: Partial<InvocationFacts> = {}): MemoryPartition {
  const partition = new MemoryPartition();
  if (status === "absent") return partition;
  const target = objectTarget("k");
  if (status === "inboxed") partition.play(invokeOf(someFacts({ id: HOLDER, target })));
  const facts = someFacts({ id: ID, target, executionTimeMs: status === "scheduled" ? 5_000 : undefined, ...change });
  partition.play(invokeOf(facts, { kind: "call", callerId: CALLER, callerGeneration: undefined, completionId: 2 }));
  switch (status) {
    case "suspended":
      partition.play(pinOf(ID, 1));
      partition.play(sleepOf(ID, 1, 1, 60_000));
      partition.play(suspendOf(ID, 1, [1]));
      break;
    case "paused":
      partition.play(pinOf(ID, 1));
      partition.play(failOf(ID, 1, "pause"));
      break;
    case "completed":
      partition.play(outputOf(ID, 1, "out"));
      partition.play(endOf(ID, 1));
      break;
    case "scheduled":
    case "inboxed":
    case "invoked":
  }
  expect(partition.invocation(ID)?.status).toBe(status);
  return partition;
}

function answer(partition: MemoryPartition, command: PartitionCommand): CommandAnswer["kind"] | undefined {
  const reply = partition.play(command).effects.find((effect) => effect.kind === "reply");
  return reply?.answer.kind;
}

const verbs: Readonly<Record<string, PartitionCommand>> = {
  cancel: { kind: "cancel", id: ID },
  kill: { kind: "kill", id: ID },
  pause: { kind: "pause", id: ID },
  resume: { kind: "resume", id: ID, moveTo: undefined },
  restartAsNew: { kind: "restartAsNew", id: ID, newId: anId(2), from: 0, moveTo: undefined, keepDeployment: true },
  purge: { kind: "purge", id: ID },
  purgeJournal: { kind: "purgeJournal", id: ID },
};

/** verb → status before → [reply, status after]. */
const TABLE: Readonly<
  Record<keyof typeof verbs, Readonly<Record<Status | "absent", readonly [CommandAnswer["kind"], Status | "absent"]>>>
> = {
  cancel: {
    absent: ["notFound", "absent"],
    scheduled: ["done", "absent"],
    inboxed: ["done", "absent"],
    invoked: ["pending", "invoked"],
    suspended: ["pending", "invoked"],
    paused: ["pending", "invoked"],
    completed: ["alreadyCompleted", "completed"],
  },
  kill: {
    absent: ["notFound", "absent"],
    scheduled: ["done", "absent"],
    inboxed: ["done", "absent"],
    invoked: ["done", "completed"],
    suspended: ["done", "completed"],
    paused: ["done", "completed"],
    completed: ["alreadyCompleted", "completed"],
  },
  pause: {
    absent: ["notFound", "absent"],
    scheduled: ["notRunning", "scheduled"],
    inboxed: ["notRunning", "inboxed"],
    invoked: ["pending", "invoked"],
    suspended: ["alreadyPaused", "suspended"],
    paused: ["alreadyPaused", "paused"],
    completed: ["notRunning", "completed"],
  },
  resume: {
    absent: ["notFound", "absent"],
    scheduled: ["notStarted", "scheduled"],
    inboxed: ["notStarted", "inboxed"],
    invoked: ["done", "invoked"],
    suspended: ["done", "invoked"],
    paused: ["done", "invoked"],
    completed: ["alreadyCompleted", "completed"],
  },
  restartAsNew: {
    absent: ["notFound", "absent"],
    scheduled: ["notStarted", "scheduled"],
    inboxed: ["notStarted", "inboxed"],
    invoked: ["stillRunning", "invoked"],
    suspended: ["stillRunning", "suspended"],
    paused: ["stillRunning", "paused"],
    completed: ["accepted", "completed"],
  },
  purge: {
    absent: ["notFound", "absent"],
    scheduled: ["notCompleted", "scheduled"],
    inboxed: ["notCompleted", "inboxed"],
    invoked: ["notCompleted", "invoked"],
    suspended: ["notCompleted", "suspended"],
    paused: ["notCompleted", "paused"],
    completed: ["done", "absent"],
  },
  purgeJournal: {
    absent: ["notFound", "absent"],
    scheduled: ["notCompleted", "scheduled"],
    inboxed: ["notCompleted", "inboxed"],
    invoked: ["notCompleted", "invoked"],
    suspended: ["notCompleted", "suspended"],
    paused: ["notCompleted", "paused"],
    completed: ["done", "completed"],
  },
};

const CELLS = Object.entries(TABLE).flatMap(([verb, row]) =>
  Object.entries(row).map(([status, [answered, after]]) => [verb, status as Status | "absent", answered, after] as const),
);

describe("verbs", () => {
  test.each(CELLS)("%s of one that is %s is answered %s and leaves it %s", (verb, status, answered, after) => {
    const partition = inStatus(status);
    expect(answer(partition, verbs[verb] as PartitionCommand)).toBe(answered);
    expect(partition.invocation(ID)?.status ?? "absent").toBe(after);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test.each(CELLS)("%s of one that is %s can be repeated", (verb, status) => {
    const partition = inStatus(status);
    partition.play(verbs[verb] as PartitionCommand);
    partition.play(verbs[verb] as PartitionCommand);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });
});

/** Returns the notifications in the caller's journal. */
function callerNotifications(partition: MemoryPartition, command: PartitionCommand): unknown {
  const { sent } = partition.play(command);
  return sent.flatMap((each) => (each.kind === "notify" && each.id === CALLER ? [decodeNotification(each.type, each.body)] : []));
}

describe("cancel", () => {
  test.each(["scheduled", "inboxed"] as const)("of one that is %s deletes every row and notifies its callers", (status) => {
    const partition = inStatus(status);
    const failure = { code: 409, message: "canceled", metadata: [] };
    expect(callerNotifications(partition, { kind: "cancel", id: ID })).toMatchObject([
      { type: MessageType.CallCompletion, result: { failure } },
    ]);
    expect(partition.entry(ID, 0)).toBeUndefined();
    expect(partition.timers.size).toBe(0);
    expect(partition.inboxes.size).toBe(0);
  });

  test.each(["invoked", "suspended", "paused"] as const)("of one that is %s stores the signal, and only that", (status) => {
    const partition = inStatus(status);
    const before = partition.invocation(ID)?.journal.length as number;
    partition.play({ kind: "cancel", id: ID });
    const entry = partition.entry(ID, before);
    expect(entry?.type).toBe(MessageType.Signal);
    expect(decodeNotification(MessageType.Signal, entry?.body as Uint8Array)).toMatchObject({
      id: { kind: "signalIndex", index: cancelSignalIndex },
      result: { kind: "void" },
    });
    expect(partition.invocation(ID)?.journal.length).toBe(before + 1);
  });

  test.each(STATUSES)("by signal does to one that is %s what the verb does", (status) => {
    const [bySignal, byVerb] = [inStatus(status), inStatus(status)];
    const signal = { kind: "signalIndex", index: cancelSignalIndex } as const;
    expect(answer(bySignal, { kind: "signal", id: ID, signal, result: voidResult })).toBe("done");
    byVerb.play({ kind: "cancel", id: ID });
    expect(bySignal.invocation(ID)).toEqual(byVerb.invocation(ID));
  });

  test("does not resume one that waits only for something else", () => {
    const partition = inStatus("invoked");
    partition.play(sleepOf(ID, 1, 1, 60_000));
    partition.play(
      suspendOf(ID, 1, [1], {
        awaiting: { completions: [1], signalIndexes: [], signalNames: [], nested: [], combinator: "unknown" },
      }),
    );
    partition.play({ kind: "cancel", id: ID });
    expect(partition.invocation(ID)?.status).toBe("suspended");
  });
});

describe("signals", () => {
  const signal = { kind: "signalIndex", index: 17 } as const;
  const command: PartitionCommand = { kind: "signal", id: ID, signal, result: { kind: "value", value: utf8("v") } };

  test.each(["scheduled", "inboxed", "invoked", "suspended", "paused"] as const)("are kept by one that is %s", (status) => {
    const partition = inStatus(status);
    expect(answer(partition, command)).toBe("done");
    expect(partition.invocation(ID)?.status).toBe(status);
    expect(partition.invocation(ID)?.journal.notifications).toBe(1);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test.each(["completed", "absent"] as const)("to one that is %s are ignored", (status) => {
    const partition = inStatus(status);
    expect(partition.play(command).mutations).toEqual([]);
  });

  test("that came before the handler are in its first replay", () => {
    const partition = inStatus("inboxed");
    partition.play(command);
    partition.play({ kind: "kill", id: HOLDER });
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", journal: { length: 2, commands: 1, notifications: 1 } });
  });
});

describe("kill", () => {
  test("notifies callers and waiters in memory, stops the run and gives the lock to the next one", () => {
    const partition = inStatus("invoked");
    const next = anId(3);
    partition.play(invokeOf(someFacts({ id: next, target: objectTarget("k") })));
    const { effects, sent } = partition.play({ kind: "kill", id: ID });
    expect(effects.map((effect) => effect.kind)).toEqual(["stopRun", "announce", "armTimer", "startRun", "reply"]);
    expect(sent.map((command) => [command.kind, command.id])).toEqual([["notify", CALLER]]);
    expect(partition.invocation(ID)).toMatchObject({ outcome: { failure: { code: 409, message: "killed" } } });
    expect(partition.lock("O", "k")?.holder).toBe(next);
  });

  test("reaches every invocation that it called or sent, finished or not, and no other", () => {
    const partition = inStatus("invoked");
    const children: InvocationId[] = [anId(10), anId(11), anId(12)];
    partition.play(callOf(ID, 1, someFacts({ id: anId(10) }), 1, 2));
    partition.play(callOf(ID, 1, someFacts({ id: anId(11) }), 3));
    partition.play(callOf(ID, 1, someFacts({ id: anId(12), executionTimeMs: 90_000 }), 4));
    partition.play(runOf(ID, 1, 5));
    const { sent } = partition.play({ kind: "kill", id: ID });
    expect(sent.filter((command) => command.kind === "kill").map((command) => command.id)).toEqual(children);
  });

  test("of one that waits leaves a hole in the inbox that is skipped", () => {
    const partition = inStatus("inboxed");
    const next = anId(3);
    partition.play(invokeOf(someFacts({ id: next, target: objectTarget("k") })));
    partition.play({ kind: "kill", id: ID });
    partition.play({ kind: "kill", id: HOLDER });
    expect(partition.lock("O", "k")).toEqual({ holder: next, head: 2, tail: 2 });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });
});

describe("pause", () => {
  test("notifies the invoker again each time, and takes effect with the next command of the attempt", () => {
    const partition = inStatus("invoked");
    const kinds = () => partition.play({ kind: "pause", id: ID }).effects.map((effect) => effect.kind);
    expect(kinds()).toEqual(["requestPause", "reply"]);
    expect(kinds()).toEqual(["requestPause", "reply"]);
    const { effects } = partition.play(suspendOf(ID, 1, [1]));
    expect(effects).toEqual([{ kind: "stopRun", id: ID, run: 1, reason: "paused" }]);
    expect(partition.invocation(ID)?.status).toBe("paused");
    expect(partition.lock("O", "k")?.holder).toBe(ID);
  });

  test("is too late for a handler that ends", () => {
    const partition = inStatus("invoked");
    partition.play({ kind: "pause", id: ID });
    partition.play(outputOf(ID, 1, "out"));
    partition.play(endOf(ID, 1));
    expect(partition.invocation(ID)?.status).toBe("completed");
  });

  test("keeps notifications that arrive meanwhile for the run that follows", () => {
    const partition = inStatus("paused");
    partition.play({ kind: "signal", id: ID, signal: { kind: "signalName", name: "x" }, result: voidResult });
    expect(partition.invocation(ID)).toMatchObject({ status: "paused", journal: { length: 2 } });
    const { effects } = partition.play({ kind: "resume", id: ID, moveTo: undefined });
    expect(effects[0]).toMatchObject({
      kind: "startRun",
      invocation: { run: 2, journal: { length: 2 } },
      firstEntries: undefined,
    });
  });
});

describe("resume", () => {
  const elsewhere = "dp_1other" as NonNullable<Extract<PartitionCommand, { kind: "resume" }>["moveTo"]>;

  test("of one that backs off retries it now", () => {
    const { effects } = inStatus("invoked").play({ kind: "resume", id: ID, moveTo: undefined });
    expect(effects[0]).toEqual({ kind: "retryNow", id: ID, run: 1 });
  });

  test.each(["suspended", "paused"] as const)(
    "moves one that is %s to another deployment, with its protocol version",
    (status) => {
      const partition = inStatus(status);
      expect(answer(partition, { kind: "resume", id: ID, moveTo: elsewhere })).toBe("done");
      expect(partition.invocation(ID)?.pinned).toEqual({ deploymentId: elsewhere, protocolVersion: 6 });
    },
  );

  test("is done again when it is repeated and the first one moved the invocation", () => {
    const partition = inStatus("paused");
    for (let i = 0; i < 2; i++) expect(answer(partition, { kind: "resume", id: ID, moveTo: elsewhere })).toBe("done");
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", pinned: { deploymentId: elsewhere } });
  });

  test("cannot move one that runs, nor one that was never pinned", () => {
    expect(answer(inStatus("invoked"), { kind: "resume", id: ID, moveTo: elsewhere })).toBe("stillRunning");
    const partition = inStatus("invoked");
    partition.play(suspendOf(ID, 1, [1]));
    expect(answer(partition, { kind: "resume", id: ID, moveTo: elsewhere })).toBe("deploymentNotPinned");
    expect(partition.invocation(ID)?.status).toBe("suspended");
  });
});

describe("purge", () => {
  test("leaves nothing: record, journal, events and timers are deleted", () => {
    const partition = inStatus("completed", { journalRetentionMs: 1_000 });
    expect(partition.timers.size).toBe(2);
    partition.play({ kind: "purge", id: ID });
    expect([partition.invocations.size, partition.entries.size, partition.events.size, partition.timers.size]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  test("of the journal keeps the outcome, and then nothing can be restarted", () => {
    const partition = inStatus("completed");
    partition.play({ kind: "purgeJournal", id: ID });
    expect(partition.entries.size).toBe(0);
    expect(partition.invocation(ID)).toMatchObject({ outcome: { kind: "success" }, journal: { length: 0, outputIndex: -1 } });
    expect(answer(partition, verbs["restartAsNew"] as PartitionCommand)).toBe("journalGone");
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });
});
