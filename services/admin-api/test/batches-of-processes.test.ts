/** Takeover of a batch after a process has ended in the middle of it, and sharing of batches between processes. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { BatchId, InvocationId } from "@perdure/base";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { encodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import type { CommandAnswer, Completed, Invocation } from "@perdure/state-machine";
import type { BatchService, SharedBatches } from "../src/batches/batches.js";
import { type BatchRecord, recordKey } from "../src/batches/record.js";
import { BATCH_PAGE_IDS, BATCH_POLL_MS, BATCH_WORKERS_MAX, BATCHES_RUNNING_MAX } from "../src/limits.js";
import { anInvocation, createScriptedPartitions } from "../src/testing/index.js";
import { freshId, freshIds, type View, World } from "./batches-world.js";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const KILLED: Completed["outcome"] = {
  kind: "failure",
  failure: { code: 409, message: "killed", metadata: [] },
  stacktrace: undefined,
};

const completedNow = (id: InvocationId, outcome: Completed["outcome"] = KILLED): Invocation => ({
  ...(anInvocation(id, "completed", undefined) as Completed),
  outcome,
  modifiedAtMs: world.clock.nowMs(),
  milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: 0, completedAtMs: world.clock.nowMs() },
});

describe("a process that ends in the middle of a page", () => {
  /** Begins a batch of which some operations take effect, and none is stored; then another process takes over. */
  async function dieAfter(
    body: { operation: string; ids: readonly InvocationId[] },
    effective: number,
    effect: (id: InvocationId, newId?: InvocationId) => void,
  ) {
    const done = new Set<string>();
    const never = new Promise<CommandAnswer>(() => {});
    world.partitions.submit = (command) => {
      if (done.size < effective && "id" in command) {
        done.add(command.id);
        effect(command.id, command.kind === "restartAsNew" ? command.newId : undefined);
      }
      return never;
    };
    const { id } = (await world.begin(body)).json<View>();
    while (done.size < effective) await world.view(id);
    world.clock.advanceBy(1_000);
    const commands = createScriptedPartitions();
    for (const [key, value] of world.partitions.invocations) commands.invocations.set(key, value);
    commands.answers.set("kill", { kind: "done" }).set("cancel", { kind: "pending" }).set("purge", { kind: "done" });
    commands.answers.set("restartAsNew", { kind: "accepted" });
    world.partitions = commands;
    await world.server[Symbol.asyncDispose](); // Its sockets only: its batches hang for ever, like their process.
    await world.serve();
    const over = await world.untilOver(id);
    return { done, over, results: await world.allResults(id), again: world.partitions.commands };
  }
  const ids = freshIds(10);

  test("kills no invocation twice, and counts killed ones as killed", async () => {
    for (const id of ids) world.partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { done, over, again } = await dieAfter({ operation: "kill", ids }, 6, (id) => {
      world.partitions.invocations.set(id, completedNow(id));
    });
    expect(over).toMatchObject({ state: "finished", succeeded: 10, failed: 0 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("one that ended by itself meanwhile was not killed", async () => {
    for (const id of ids) world.partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { again } = await dieAfter({ operation: "kill", ids }, 6, (id) => {
      world.partitions.invocations.set(id, completedNow(id, { kind: "success", value: new Uint8Array() }));
    });
    expect(again).toHaveLength(ids.length); // The partition answers that it is completed already.
  });

  test("an invocation that completed before the batch began has that result, before and after the takeover", async () => {
    const [early] = ids as [InvocationId];
    world.partitions.invocations.set(early, anInvocation(early, "completed", undefined));
    for (const id of ids.slice(1)) world.partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { again } = await dieAfter({ operation: "kill", ids }, 0, () => undefined);
    expect(again).toHaveLength(ids.length);
  });

  test("sends no second request to cancel", async () => {
    for (const id of ids) world.partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { done, over, again } = await dieAfter({ operation: "cancel", ids }, 6, (id) => {
      const body = encodeNotification({ kind: "signalIndex", index: 1 }, voidResult);
      world.journals.set(id, [{ type: MessageType.Signal, body, appendedAtMs: world.clock.nowMs() }]);
    });
    expect(over).toMatchObject({ succeeded: 10 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("purges the remaining invocations, and counts missing ones as purged", async () => {
    for (const id of ids) world.partitions.invocations.set(id, anInvocation(id, "completed", undefined));
    const { done, over, again } = await dieAfter({ operation: "purge", ids }, 6, (id) => world.partitions.invocations.delete(id));
    expect(over).toMatchObject({ succeeded: 10, failed: 0 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("creates no second copy of an invocation", async () => {
    const copies = new Map<string, InvocationId>();
    const { done, over, results, again } = await dieAfter({ operation: "restart-as-new", ids }, 6, (id, newId) => {
      copies.set(id, newId as InvocationId);
      world.partitions.invocations.set(newId as string, anInvocation(newId as InvocationId, "invoked", undefined));
    });
    expect(over).toMatchObject({ succeeded: 10 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
    for (const { invocation_id, new_invocation_id } of results) {
      if (done.has(invocation_id)) expect(new_invocation_id).toBe(copies.get(invocation_id));
      else expect(new_invocation_id).toBeDefined();
    }
  });
});

test("of two processes only the one that wrote last continues", async () => {
  const gates: ((answer: CommandAnswer) => void)[] = [];
  world.partitions.submit = () => new Promise((resolve) => gates.push(resolve));
  const { id } = (await world.begin({ operation: "pause", ids: freshIds(BATCH_PAGE_IDS + 1) })).json<View>();
  while (gates.length < BATCH_WORKERS_MAX) await world.view(id);
  const hung = [...gates];
  world.partitions.submit = async () => ({ kind: "pending" });
  await using other = await world.openBatches();
  for (;;) if ((await other.get(id as never))?.state === "finished") break;
  const commandCount = world.partitions.commands.length;
  for (const open of hung) open({ kind: "pending" });
  expect(await world.untilOver(id)).toMatchObject({ state: "finished", done: BATCH_PAGE_IDS + 1, succeeded: BATCH_PAGE_IDS + 1 });
  expect(world.partitions.commands.length).toBe(commandCount);
});

describe("of two processes", () => {
  const killing = (ids: readonly InvocationId[]) =>
    ({
      operation: "kill",
      filter: undefined,
      ids,
      moreMatched: false,
      deployment: undefined,
      startedBy: undefined,
      reason: undefined,
    }) as const;
  const over = async (of: BatchService, id: BatchId): Promise<BatchRecord> => {
    for (;;) {
      const record = await of.get(id);
      if (record !== undefined && record.state !== "running") return record;
    }
  };
  let leader: SharedBatches;
  let other: SharedBatches;
  let isSure: boolean;
  beforeEach(async () => {
    isSure = true;
    [leader, other] = [world.openShared(), world.openShared()];
    await leader.lead(() => isSure);
  });
  afterEach(async () => {
    await Promise.all([leader, other].map((each) => each[Symbol.asyncDispose]()));
  });

  test("one runs a batch that the other began, and both show it", async () => {
    world.partitions.answers.set("kill", { kind: "done" });
    const ids = freshIds(BATCH_PAGE_IDS + 5);
    const { id } = (await other.begin(killing(ids))) as BatchRecord;
    expect(await leader.get(id)).toMatchObject({ state: "running", succeeded: 0 });
    expect(world.partitions.commands).toEqual([]);
    await leader.refresh();
    expect(await over(other, id)).toMatchObject({ state: "finished", succeeded: ids.length });
    expect(world.partitions.commands).toHaveLength(ids.length);
    expect((await other.results(id, 0))?.results.map((each) => each.id)).toEqual(ids.slice(0, BATCH_PAGE_IDS));
    expect(await other.list()).toEqual(await leader.list());
  });

  test("a batch that ends while all records are read stays as it ended", async () => {
    const store = createMemoryMetadataStore(world.memory);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let isRead = false;
    const slow = world.openShared({
      ...store,
      list: async (prefix) => {
        const documents = await store.list(prefix);
        isRead = documents.length > 0;
        if (isRead) await ended;
        return documents;
      },
    });
    await slow.lead(() => true);
    const gates: ((answer: CommandAnswer) => void)[] = [];
    world.partitions.submit = () => new Promise((resolve) => gates.push(resolve));
    const { id } = (await slow.begin(killing(freshIds(1)))) as BatchRecord;
    const refreshing = slow.refresh();
    while (!isRead || gates.length === 0) await slow.get(id);
    gates[0]?.({ kind: "done" });
    expect(await over(slow, id)).toMatchObject({ state: "finished" });
    end();
    await refreshing;
    expect(await slow.get(id)).toMatchObject({ state: "finished" });
    await slow[Symbol.asyncDispose]();
  });

  test("one cancels a batch that the other runs, and returns its progress", async () => {
    const gates: ((answer: CommandAnswer) => void)[] = [];
    world.partitions.submit = () => new Promise((resolve) => gates.push(resolve));
    const { id } = (await leader.begin(killing(freshIds(BATCH_PAGE_IDS * 2)))) as BatchRecord;
    while (gates.length < BATCH_WORKERS_MAX) await other.get(id);
    const cancelled = other.cancel(id);
    const store = createMemoryMetadataStore(world.memory);
    while ((await store.get(recordKey(id)))?.version === 1) await store.get("nothing");
    await leader.refresh();
    for (const open of gates) open({ kind: "done" });
    expect(await over(leader, id)).toMatchObject({ state: "cancelled", succeeded: BATCH_WORKERS_MAX });
    world.clock.advanceBy(BATCH_POLL_MS);
    expect(await cancelled).toMatchObject({ state: "cancelled", succeeded: BATCH_WORKERS_MAX });
    expect((await other.results(id, 0))?.results).toHaveLength(BATCH_WORKERS_MAX);
  });

  test("one that may have lost leadership begins no operation, and the other continues without repeating any", async () => {
    const done = new Map<string, number>();
    const stop = BATCH_WORKERS_MAX * 2;
    world.partitions.submit = async (command) => {
      const { id } = command as { id: InvocationId };
      done.set(id, (done.get(id) ?? 0) + 1);
      world.partitions.invocations.set(id, completedNow(id));
      if (done.size >= stop) isSure = false;
      return { kind: "done" };
    };
    const ids = freshIds(BATCH_PAGE_IDS + 50);
    for (const each of ids) world.partitions.invocations.set(each, anInvocation(each, "invoked", undefined));
    const { id } = (await leader.begin(killing(ids))) as BatchRecord;
    while (done.size < stop) await other.get(id);
    for (let i = 0; i < 50; i++) await other.get(id);
    expect(done.size).toBeLessThan(stop + BATCH_WORKERS_MAX);
    await other.lead(() => true);
    expect(await over(other, id)).toMatchObject({ state: "finished", succeeded: ids.length });
    expect([...done.values()].every((times) => times === 1)).toBe(true);
    expect(done.size).toBe(ids.length);
  });

  test("together they run no more than one alone", async () => {
    world.partitions.submit = () => new Promise(() => {});
    for (let n = 0; n < BATCHES_RUNNING_MAX; n++) expect(await other.begin(killing([freshId(n)]))).toBeDefined();
    expect(await other.begin(killing([freshId(50)]))).toBeUndefined();
    expect(await leader.begin(killing([freshId(51)]))).toBeUndefined();
    [leader, other] = [world.openShared(), world.openShared()]; // The earlier ones hang for ever, like their process.
  });
});

test("a process whose batches cannot be read continues none of them, and keeps no timer", async () => {
  const { id } = (await world.begin({ operation: "kill", ids: freshIds(1) })).json<View>();
  await world.untilOver(id);
  await world.batches[Symbol.asyncDispose]();
  expect(world.clock.pendingTimers).toBe(0);
  const metadata = createMemoryMetadataStore(world.memory);
  await metadata.write([{ kind: "put", key: recordKey(id as BatchId), value: "damaged", expectedVersion: undefined }]);
  await expect(world.openBatches()).rejects.toMatchObject({ code: "STO0003" });
  expect(world.clock.pendingTimers).toBe(0);
});
