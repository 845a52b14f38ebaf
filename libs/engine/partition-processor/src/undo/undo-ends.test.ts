/** What an undo leaves in the store: records end with their time, and where undo was switched off; a restored invocation is stored once. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, type OperationId, silentLogger } from "@perdure/base";
import { invokeOf, plainTarget, someFacts } from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue, UNDO_NOTES } from "@perdure/storage";
import { behindNetwork } from "@perdure/storage/testing";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { LocalPartitions } from "../callers/local-partitions.js";
import { NO_RULES } from "../flow/flow-control.js";
import { UNDO_DROPS_MAX } from "../limits.js";
import { LoopbackPeers } from "../outbox/loopback-peers.js";
import type { ProcessorPorts } from "../ports.js";
import { Processor } from "../processor.js";
import { ScriptedInvoker } from "../testing/scripted-invoker.js";

const OPERATION = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
const WINDOW_MS = 600_000;
const random = new SeededRandom(1);

async function leader(store: ProcessorPorts["store"], undoBytesMax: number, clock = new VirtualClock()) {
  const peers = new LoopbackPeers();
  const ports: ProcessorPorts<ScriptedInvoker> = {
    store,
    clock,
    logger: silentLogger,
    soon: (task) => setImmediate(task),
    invoker: (host) => new ScriptedInvoker(host),
    rules: NO_RULES,
    peers,
    onFenced: () => undefined,
    onFatal: (cause) => {
      throw cause;
    },
  };
  const options = { partitions: [0, 1], partitionCount: 2, cleanupIntervalMs: 1_000, undoBytesMax };
  const processor = await Processor.start(ports, options);
  peers.connect(processor);
  const partitions = new LocalPartitions(processor);
  const killed = async (id: InvocationId, untilMs: number): Promise<void> => {
    partitions.invoke(invokeOf(someFacts({ id, requestId: random.uint32() + 1 })), false, IGNORED);
    await partitions.submit({ kind: "kill", id, undo: { operation: OPERATION, untilMs } });
  };
  return { clock, processor, partitions, killed };
}

const IGNORED = { submitted: () => undefined, completed: () => undefined, unavailable: () => undefined };
const newId = (): InvocationId => newInvocationId(plainTarget, 0, random);

async function notesIn(store: ProcessorPorts["store"]): Promise<number> {
  const notes = await Promise.all([0, 1].map((partition) => store.stateOf(partition, UNDO_NOTES.service, UNDO_NOTES.key)));
  return notes.reduce((sum, { size }) => sum + size, 0);
}

async function flushTasks(): Promise<void> {
  for (let i = 0; i < 60; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function completedIn(store: ProcessorPorts["store"]): Promise<number> {
  let count = 0;
  for (const partition of [0, 1]) for await (const _ of store.completed(partition)) count++;
  return count;
}

describe.each([
  ["answers at once", (kv: MemoryKeyValue) => new KvPartitionStore(kv)],
  ["is behind a network", (kv: MemoryKeyValue) => behindNetwork(new KvPartitionStore(kv))],
] as const)("on a store that %s", (_, open) => {
  test("a leader under which undo is off deletes what former leaders kept, and keeps nothing", async () => {
    const kv = new MemoryKeyValue();
    const before = await leader(open(kv), 1_000_000);
    const ids = Array.from({ length: 5 }, newId);
    for (const id of ids) await before.killed(id, before.clock.nowMs() + WINDOW_MS);
    expect(await notesIn(open(kv))).toBe(5);
    await before.processor[Symbol.asyncDispose]();

    const { clock, processor, partitions, killed } = await leader(open(kv), 0);
    await flushTasks();
    expect(await notesIn(open(kv))).toBe(0);
    const [first] = ids;
    if (first === undefined) throw new Error("there are five");
    expect(await partitions.submit({ kind: "undo", id: first, operation: OPERATION, sink: undefined })).toMatchObject({
      result: "notKept",
    });
    await killed(newId(), clock.nowMs() + WINDOW_MS);
    expect(await notesIn(open(kv))).toBe(0);
    await processor[Symbol.asyncDispose]();
  });

  test("a restored invocation has left the completed ones", async () => {
    const kv = new MemoryKeyValue();
    const { clock, processor, partitions, killed } = await leader(open(kv), 1_000_000);
    const id = newId();
    await killed(id, clock.nowMs() + WINDOW_MS);
    expect(await completedIn(open(kv))).toBe(1);
    await partitions.submit({ kind: "undo", id, operation: OPERATION, sink: undefined });
    expect(await completedIn(open(kv))).toBe(0);
    expect(await partitions.describe(id)).toMatchObject({ status: "invoked", run: 2 });
    await processor[Symbol.asyncDispose]();
  });

  test("one clean-up deletes all records whose time is over, also more than one command deletes", async () => {
    const kv = new MemoryKeyValue();
    const { clock, processor, partitions, killed } = await leader(open(kv), 10_000_000);
    const count = 2 * UNDO_DROPS_MAX + 10;
    for (let n = 0; n < count; n++) await killed(newId(), clock.nowMs() + 1_500);
    const kept = newId();
    await killed(kept, clock.nowMs() + WINDOW_MS);
    expect(await notesIn(open(kv))).toBe(count + 1);
    clock.advanceBy(1_000);
    await flushTasks();
    expect(await notesIn(open(kv))).toBe(count + 1);
    clock.advanceBy(1_000);
    await flushTasks();
    expect(await notesIn(open(kv))).toBe(1);
    expect(await partitions.submit({ kind: "undo", id: kept, operation: OPERATION, sink: undefined })).toMatchObject({
      result: "undone",
    });
    await processor[Symbol.asyncDispose]();
  });
});
