/** Pauses and resumptions are undone where the invocation is by then, and later changes are not overwritten. */
import { expect, test } from "@jest/globals";
import { type InvocationId, type OperationId, utf8 } from "@perdure/base";
import type { PartitionCommand } from "../command.js";
import type { CommandAnswer } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  proposeOf,
  runOf,
  sleepOf,
  someFacts,
  suspendOf,
} from "../testing/index.js";

const ID = anId(1);
const PAUSE = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
const RESUME = "op_15ChR1PDwZt22Rn2lfZrRo6" as OperationId;
const KILL = "op_15ChR1PDwZt22Rn2lfZrRo7" as OperationId;
const NO_RETENTION = { completionRetentionMs: 0, journalRetentionMs: 0 };

const markOf = (operation: OperationId) => ({ operation, untilMs: 600_000 });
const pauseOf = (operation = PAUSE): PartitionCommand => ({ kind: "pause", id: ID, undo: markOf(operation) });
const resumeOf = (operation = RESUME): PartitionCommand => ({
  kind: "resume",
  id: ID,
  moveTo: undefined,
  undo: markOf(operation),
});
function answer(partition: MemoryPartition, command: PartitionCommand): CommandAnswer | undefined {
  const replies = partition.playAll(command).effects.flatMap((effect) => (effect.kind === "reply" ? [effect.answer] : []));
  expect(brokenInvariants(partition.snapshot())).toEqual([]);
  return replies[0];
}

const undone = (partition: MemoryPartition, operation: OperationId, id: InvocationId = ID) =>
  (answer(partition, { kind: "undo", id, operation, sink: undefined }) as { result: string }).result;

/** `O/k/h`, which runs with one stored step. */
function running(retention: object = NO_RETENTION): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, target: objectTarget("k"), ...retention })));
  partition.play(pinOf(ID, 1));
  partition.play(runOf(ID, 1, 1));
  partition.play(proposeOf(ID, 1, 1, { kind: "value", value: utf8("step") }));
  return partition;
}

function paused(): MemoryPartition {
  const partition = running();
  expect(answer(partition, pauseOf())).toEqual({ kind: "pending" });
  partition.play(failOf(ID, 1, "retry"));
  expect(partition.invocation(ID)).toMatchObject({ status: "paused", run: 1 });
  return partition;
}

function suspend(partition: MemoryPartition, run: number): void {
  partition.play(sleepOf(ID, run, 2, 60_000));
  partition.play(suspendOf(ID, run, [2], { receivedNotificationCount: 1 }));
}

test("a pause that has taken effect is undone by running again, once", () => {
  const partition = paused();
  expect(undone(partition, PAUSE)).toBe("undone");
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2, pauseRequested: false });
  expect(undone(partition, PAUSE)).toBe("alreadyUndone");
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
});

test("a pause that waits for the running attempt is withdrawn: the run continues, and suspends as usual", () => {
  const partition = running();
  answer(partition, pauseOf());
  expect(undone(partition, PAUSE)).toBe("undone");
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 1, pauseRequested: false });
  suspend(partition, 1);
  expect(partition.invocation(ID)?.status).toBe("suspended");
});

test("a run that ended for a pause runs again when the pause was withdrawn meanwhile; a policy still pauses", () => {
  const partition = running();
  answer(partition, pauseOf());
  undone(partition, PAUSE);
  partition.play({ ...failOf(ID, 1, "pause"), isRepeated: true });
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
  partition.play(failOf(ID, 2, "pause"));
  expect(partition.invocation(ID)?.status).toBe("paused");
});

test("a repeated request to pause after the undo does not pause again", () => {
  const partition = paused();
  expect(answer(partition, pauseOf())).toEqual({ kind: "done" });
  undone(partition, PAUSE);
  expect(answer(partition, pauseOf())).toEqual({ kind: "done" });
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", pauseRequested: false });
});

test("an invocation that was paused again since stays paused, and one that runs since is left alone", () => {
  const partition = paused();
  answer(partition, resumeOf());
  answer(partition, pauseOf(KILL));
  partition.play(failOf(ID, 2, "retry"));
  expect(undone(partition, PAUSE)).toBe("conflict");
  expect(partition.invocation(ID)?.status).toBe("paused");
  expect(undone(partition, KILL)).toBe("undone");
  expect(undone(partition, PAUSE)).toBe("undone");
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 3 });
});

test("a pause is not undone while the invocation is killed: undoing the kill restores it first", () => {
  const partition = paused();
  partition.playAll({ kind: "kill", id: ID, undo: markOf(KILL) });
  expect(undone(partition, PAUSE)).toBe("conflict");
  expect(undone(partition, KILL)).toBe("undone");
  expect(partition.invocation(ID)?.status).toBe("paused");
  expect(undone(partition, PAUSE)).toBe("undone");
  expect(partition.invocation(ID)?.status).toBe("invoked");
});

test("nothing is left of a pause when the invocation ended before", () => {
  const partition = running();
  answer(partition, pauseOf());
  partition.play(outputOf(ID, 1, "out"));
  partition.playAll(endOf(ID, 1));
  expect(undone(partition, PAUSE)).toBe("undone");
});

test("what was not changed keeps nothing", () => {
  const partition = running();
  suspend(partition, 1);
  expect(answer(partition, pauseOf())).toEqual({ kind: "alreadyPaused" });
  expect(answer(partition, resumeOf())).toEqual({ kind: "accepted" });
  expect([undone(partition, PAUSE), undone(partition, RESUME)]).toEqual(["notKept", "notKept"]);
});

test("a resumption is undone by a pause when the running attempt stops, and at once where none runs", () => {
  const runs = paused();
  expect(answer(runs, resumeOf())).toEqual({ kind: "done" });
  expect(undone(runs, RESUME)).toBe("undone");
  expect(runs.invocation(ID)).toMatchObject({ status: "invoked", run: 2, pauseRequested: true });

  const suspended = paused();
  answer(suspended, resumeOf());
  suspend(suspended, 2);
  expect(undone(suspended, RESUME)).toBe("undone");
  expect(suspended.invocation(ID)?.status).toBe("paused");
  expect(suspended.lock("O", "k")?.holder).toBe(ID);
  const timer = { kind: "sleep", dueAtMs: 60_000, id: ID, sequence: 2 } as const;
  suspended.playAll({ kind: "timerFired", id: ID, timer });
  expect(suspended.invocation(ID)?.status).toBe("paused");
});

test.each([
  ["whose result is stored", {}],
  ["without retention", NO_RETENTION],
])("a resumption of an invocation %s is not undone after its end", (_, retention) => {
  const partition = running(retention);
  answer(partition, pauseOf());
  partition.play(failOf(ID, 1, "retry"));
  answer(partition, resumeOf());
  partition.play(outputOf(ID, 2, "out"));
  partition.playAll(endOf(ID, 2));
  expect(undone(partition, RESUME)).toBe("conflict");
});

test("changes without a mark answer as before, and keep nothing", () => {
  const partition = running();
  partition.playAll({ kind: "pause", id: ID });
  expect(partition.undo.isEmpty).toBe(true);
  expect(answer(partition, { kind: "resume", id: ID, moveTo: undefined })).toEqual({ kind: "done" });
});
