/** Archiving with slow responses, interruptions and failures. */
import { expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import {
  anId,
  completePromiseOf,
  endOf,
  invokeOf,
  outputOf,
  setStateOf,
  someFacts,
  workflowTarget,
} from "@perdure/state-machine/testing";
import { archiveRecord, DELETED_GENERATIONS } from "@perdure/storage";
import { type ArchivingWorld, archivingWorld, flushTasks } from "../testing/archiving-world.js";

const LONG_MS = 100_000;
const idempotent = (n: number, createdAtMs: number) =>
  someFacts({
    id: anId(n),
    idempotencyKey: "k",
    createdAtMs,
    completionRetentionMs: LONG_MS,
    journalRetentionMs: LONG_MS,
  });

/** Invokes the invocation and ends it; its output is `text`. */
async function complete(world: ArchivingWorld, n: number, text: string): Promise<InvocationId> {
  const { id } = await begin(world, n);
  world.attempt(outputOf(id, 1, text));
  world.attempt(endOf(id, 1));
  await flushTasks();
  return id;
}

async function begin(world: ArchivingWorld, n: number) {
  const facts = idempotent(n, world.clock.nowMs());
  await world.invoke(invokeOf(facts));
  return facts;
}

async function statusOf(world: ArchivingWorld, id: InvocationId): Promise<string> {
  const description = await world.describe(id);
  return description === undefined || description === "unavailable" ? String(description) : description.status;
}

async function storedIds(world: ArchivingWorld): Promise<InvocationId[]> {
  const ids: InvocationId[] = [];
  for await (const { facts } of world.kv.completed(0)) ids.push(facts.id);
  return ids;
}

test("an archive that hangs delays only commands that need it", async () => {
  await using world = await archivingWorld("archived");
  const id = await complete(world, 1, "one");
  await world.advance(1_000);
  expect(await storedIds(world)).toEqual([]);
  const gate = Promise.withResolvers<void>();
  world.archive.slowFind = gate.promise;
  const status = statusOf(world, id);
  const duplicate = begin(world, 1);
  await world.invoke(invokeOf(someFacts({ id: anId(5) }))); // This would not resolve if it waited too.
  expect(await statusOf(world, anId(5))).toBe("invoked");
  gate.resolve();
  expect(await status).toBe("completed");
  await duplicate;
  expect(await storedIds(world)).toEqual([]);
});

test("messages of one producer keep their order while one of them waits for the archive", async () => {
  await using world = await archivingWorld("archived");
  await complete(world, 11, "one");
  await world.advance(1_000);
  const gate = Promise.withResolvers<void>();
  world.archive.slowFind = gate.promise;
  const delivered: number[] = [];
  const deliver = (seq: number, n: number, facts: object): boolean =>
    world.processor.deliver(invokeOf(someFacts({ id: anId(n), ...facts })), "p7", seq, () => delivered.push(seq));
  deliver(1, 11, { idempotencyKey: "k" });
  deliver(2, 12, {});
  world.processor.deliver(invokeOf(someFacts({ id: anId(13) })), "p8", 1, () => delivered.push(81));
  await flushTasks();
  expect(delivered).toEqual([81]);
  gate.resolve();
  await flushTasks();
  expect(delivered).toEqual([81, 1, 2]);
  deliver(1, 11, { idempotencyKey: "k" }); // Again: it is a duplicate.
  await flushTasks();
  expect(delivered).toEqual([81, 1, 2, 1]);
  for (const n of [12, 13]) expect(await statusOf(world, anId(n))).toBe("invoked");
  expect(await statusOf(world, anId(11))).toBe("completed");
});

test("a message waits while the archive is unavailable, and is accepted when it is available again", async () => {
  await using world = await archivingWorld("archived");
  await complete(world, 11, "one");
  await world.advance(1_000);
  world.archive.isAway = true;
  const delivered: number[] = [];
  const message = invokeOf(someFacts({ id: anId(11), idempotencyKey: "k" }));
  world.processor.deliver(message, "p7", 1, () => delivered.push(1));
  await world.advance(5_000);
  expect([delivered, world.failures]).toEqual([[], []]);
  world.archive.isAway = false;
  await world.advance(2_000);
  expect(delivered).toEqual([1]);
});

test("an id that was never archived is accepted while the archive is unavailable, by the next leader too", async () => {
  const first = await archivingWorld("archived");
  const id = await complete(first, 1, "one");
  await first.advance(1_000);
  first.archive.isAway = true;
  await begin(first, 2);
  expect(await statusOf(first, anId(2))).toBe("invoked");
  expect(await statusOf(first, anId(3))).toBe("undefined");
  first.processor.abandon("killed");

  await using second = await archivingWorld("archived", first.kv, first.archive);
  await begin(second, 4);
  expect(await statusOf(second, anId(4))).toBe("invoked");
  expect(await statusOf(second, id)).toBe("unavailable");
  first.archive.isAway = false;
  expect(await statusOf(second, id)).toBe("completed");
  await first[Symbol.asyncDispose]();
});

test("a partition whose archive is older than its fingerprints reads it once; until then the archive is queried for every id", async () => {
  const first = await archivingWorld("archived");
  const id = await complete(first, 1, "one");
  await first.advance(1_000);
  first.processor.abandon("killed");

  first.archive.isAway = true;
  await using second = await archivingWorld("archived", undefined, first.archive);
  expect([await statusOf(second, id), await statusOf(second, anId(2))]).toEqual(["unavailable", "unavailable"]);
  first.archive.isAway = false;
  await second.advance(21_000);
  first.archive.isAway = true;
  expect([await statusOf(second, id), await statusOf(second, anId(2))]).toEqual(["unavailable", "undefined"]);
  await first[Symbol.asyncDispose]();
});

test("a leader that crashed between put and eviction is followed by one that archives again; a purge in between is final", async () => {
  const first = await archivingWorld("archived");
  const died = Promise.withResolvers<void>();
  first.archive.slowAnswer = died.promise;
  const id = await complete(first, 1, "one");
  const other = await complete(first, 2, "two");
  await first.advance(1_000);
  expect([(await storedIds(first)).length, first.archive.size]).toEqual([2, 2]); // The invocations are in both.
  first.processor.abandon("killed");

  await using second = await archivingWorld("archived", first.kv, first.archive);
  first.archive.slowAnswer = Promise.resolve();
  expect(await second.submit({ kind: "purge", id })).toEqual({ kind: "done" });
  expect(await statusOf(second, id)).toBe("undefined");
  await second.advance(1_000);
  expect([await storedIds(second), first.archive.size]).toEqual([[], 1]);
  expect([await statusOf(second, id), await statusOf(second, other)]).toEqual(["undefined", "completed"]);
  died.resolve();
  await first[Symbol.asyncDispose]();
});

test("a purged invocation stays purged for the next leader, though the purge never reached the archive", async () => {
  const first = await archivingWorld("archived");
  const id = await complete(first, 1, "one");
  await first.advance(1_000);
  expect(await first.submit({ kind: "purge", id })).toEqual({ kind: "done" });
  expect(first.archive.size).toBe(1);
  first.processor.abandon("killed");

  await using second = await archivingWorld("archived", first.kv, first.archive);
  expect(await statusOf(second, id)).toBe("undefined");
  expect(await second.submit({ kind: "purge", id })).toEqual({ kind: "notFound" });
  await begin(second, 1);
  expect(await statusOf(second, id)).toBe("invoked");
  await second.advance(1_000);
  expect(first.archive.size).toBe(0);
  const notes: unknown[] = [];
  for await (const row of second.kv.scanState(0, undefined)) if (row.key === DELETED_GENERATIONS.key) notes.push(row);
  expect(notes).toEqual([]);
  await first[Symbol.asyncDispose]();
});

test("a look-up that read a purged invocation before the archive deleted it does not return it", async () => {
  await using world = await archivingWorld("archived");
  const id = await complete(world, 1, "one");
  await world.advance(1_000);
  expect(await world.submit({ kind: "purge", id })).toEqual({ kind: "done" });
  const gate = Promise.withResolvers<void>();
  world.archive.slowResult = gate.promise;
  const status = statusOf(world, id);
  await flushTasks();
  await world.advance(1_000);
  expect(world.archive.size).toBe(0);
  gate.resolve();
  expect(await status).toBe("undefined");
});

test("a deposed leader that continues restores nothing", async () => {
  const first = await archivingWorld("archived");
  const id = await complete(first, 1, "one");
  const stored = await first.describe(id);
  await first.advance(1_000);
  await using second = await archivingWorld("archived", first.kv, first.archive);
  await second.submit({ kind: "purge", id });
  await second.advance(1_000);
  expect(first.archive.size).toBe(0);
  if (stored === undefined || stored === "unavailable" || stored.status !== "completed") throw new Error("it is completed");
  const old = archiveRecord({ ...stored, journal: { ...stored.journal, length: 0 } }, [], []);
  const [was] = first.processor.leaderships;
  expect(await first.archive.put({ partition: 0, epoch: was?.epoch ?? 0 }, [old])).toMatchObject({ kind: "fenced" });
  expect(await statusOf(second, id)).toBe("undefined");
  first.processor.abandon("fenced");
  await first[Symbol.asyncDispose]();
});

test("a workflow's state and promises are deleted when its archived run's retention is over, at the latest when the archive is available again", async () => {
  await using world = await archivingWorld("archived");
  const facts = someFacts({ id: anId(1), target: workflowTarget("w"), completionRetentionMs: 5_000, journalRetentionMs: 5_000 });
  await world.invoke(invokeOf(facts));
  world.attempt(setStateOf(facts.id, 1, "k", "v"));
  const completion = { kind: "value", value: new Uint8Array([1]) } as const;
  world.attempt(completePromiseOf(facts.id, 1, "p", 1, completion));
  world.attempt(outputOf(facts.id, 1, "out"));
  world.attempt(endOf(facts.id, 1));
  await flushTasks();
  await world.advance(1_000);
  expect([await storedIds(world), world.archive.size]).toEqual([[], 1]);
  const kept = async (): Promise<number[]> => [
    (await world.kv.stateOf(0, "W", "w")).size,
    (await world.kv.promisesOf(0, "W", "w")).length,
  ];
  world.archive.isAway = true;
  await world.advance(10_000);
  expect(await kept()).toEqual([1, 1]);
  expect(await world.kv.timers(0, "retention", 0, 10)).toHaveLength(1);
  world.archive.isAway = false;
  await world.advance(3_000);
  expect(await kept()).toEqual([0, 0]);
  expect([await world.kv.timers(0, "retention", 0, 10), world.archive.size]).toEqual([[], 0]);
  expect(await statusOf(world, facts.id)).toBe("undefined");
});

test("an archived invocation that loses its journal is kept here again, and its retention ends in time", async () => {
  await using world = await archivingWorld("archived");
  const facts = someFacts({ id: anId(1), idempotencyKey: "k", completionRetentionMs: 5_000, journalRetentionMs: 5_000 });
  await world.invoke(invokeOf({ ...facts, createdAtMs: world.clock.nowMs() }));
  world.attempt(outputOf(facts.id, 1, "out"));
  world.attempt(endOf(facts.id, 1));
  await flushTasks();
  await world.advance(1_000);
  expect(await storedIds(world)).toEqual([]);
  expect(await world.submit({ kind: "purgeJournal", id: facts.id })).toEqual({ kind: "done" });
  world.archive.isAway = true; // It cannot be archived again before its end.
  await flushTasks();
  expect([await storedIds(world), await world.reading.readJournal(0, facts.id, 0)]).toEqual([[facts.id], []]);
  await world.advance(5_500);
  expect(await storedIds(world)).toEqual([]);
  world.archive.isAway = false;
  await world.advance(500);
  expect([await statusOf(world, facts.id), world.archive.size]).toEqual(["undefined", 0]);
});
