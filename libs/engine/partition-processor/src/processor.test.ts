/** The processor on a memory store, with attempts played by the test through the real commands. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type InvocationId,
  idempotentInvocationId,
  newInvocationId,
  PerdureError,
  partitionOf,
  silentLogger,
  utf8,
} from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import { MessageType } from "@perdure/service-protocol";
import type { InvocationFacts, Invoke, Target } from "@perdure/state-machine";
import {
  callOf,
  commandOf,
  completePromiseOf,
  endOf,
  invokeOf,
  objectTarget,
  outputOf,
  plainTarget,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { behindNetwork } from "@perdure/storage/testing";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { LocalPartitions } from "./callers/local-partitions.js";
import { NO_RULES } from "./flow/flow-control.js";
import { LARGE_PAYLOAD_BYTES, TIMER_PAGE } from "./limits.js";
import { LoopbackPeers } from "./outbox/loopback-peers.js";
import type { ProcessorPorts } from "./ports.js";
import { Processor } from "./processor.js";
import { ScriptedInvoker } from "./testing/scripted-invoker.js";

const PARTITIONS = 4;

/** Opens the store of the present tests. */
let storeOf: (kv: MemoryKeyValue) => ProcessorPorts["store"];

async function world(kv = new MemoryKeyValue(), replaced: Partial<ProcessorPorts<ScriptedInvoker>> = {}) {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const peers = new LoopbackPeers();
  const fatal: unknown[] = [];
  const garbage: number[] = [];
  const processor = await Processor.start(
    {
      store: storeOf(kv),
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      largeGarbage: (bytes) => garbage.push(bytes),
      invoker: (host) => new ScriptedInvoker(host),
      rules: NO_RULES,
      peers,
      onFenced: () => fatal.push("fenced"),
      onFatal: (error) => fatal.push(error),
      ...replaced,
    },
    { partitions: [0, 1, 2, 3], partitionCount: PARTITIONS, cleanupIntervalMs: 1_000 },
  );
  peers.connect(processor);
  const invocation = (target: Target, over: Partial<InvocationFacts> = {}): Invoke =>
    invokeOf(
      someFacts({
        id: over.id ?? newInvocationId(target, clock.nowMs(), random),
        target,
        requestId: random.uint32() + 1,
        createdAtMs: clock.nowMs(),
        ...over,
      }),
    );
  return {
    kv,
    clock,
    garbage,
    processor,
    partitions: new LocalPartitions(processor),
    invoker: processor.invoker,
    invocation,
    fatal,
  };
}

const flushTasks = async (): Promise<void> => {
  for (let i = 0; i < 60; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Plays an attempt that returns at once. */
function finish(invoker: ScriptedInvoker, id: InvocationId, text = "out"): void {
  const run = invoker.runs(id).at(-1)?.invocation.run as number;
  invoker.host.submit(outputOf(id, run, text));
  invoker.host.submit(endOf(id, run));
}

function listen() {
  const events: unknown[] = [];
  return {
    events,
    submitted: (previous: unknown) => events.push(previous === undefined ? "accepted" : "previous"),
    completed: (completion: { outcome: { kind: string; value?: Uint8Array } }) =>
      events.push(
        completion.outcome.kind === "success" ? Buffer.from(completion.outcome.value ?? []).toString() : completion.outcome,
      ),
    unavailable: (reason: string) => events.push(`unavailable: ${reason}`),
    notFound: () => events.push("notFound"),
  };
}

describe.each([
  ["answers at once", (kv: MemoryKeyValue) => new KvPartitionStore(kv)],
  ["is behind a network", (kv: MemoryKeyValue) => behindNetwork(new KvPartitionStore(kv))],
] as const)("Processor on a store that %s", (_, open) => {
  beforeEach(() => {
    storeOf = open;
  });

  test("an invocation is accepted and run, and the waiting caller gets its result", async () => {
    const { partitions, invoker, invocation } = await world();
    const caller = listen();
    const invoke = invocation(plainTarget);
    partitions.invoke(invoke, true, caller);
    await flushTasks();
    expect(caller.events).toEqual(["accepted"]);
    expect(invoker.runs(invoke.id)).toHaveLength(1);
    finish(invoker, invoke.id);
    await flushTasks();
    expect(caller.events).toEqual(["accepted", "out"]);
    expect(await partitions.output(invoke.id)).toMatchObject({ kind: "completed" });
  });

  test("exclusive handlers of one key run one after the other in order of arrival", async () => {
    const { partitions, invoker, invocation } = await world();
    const invokes = [1, 2, 3].map(() => invocation(objectTarget("k")));
    for (const each of invokes) partitions.invoke(each, false, listen());
    await flushTasks();
    for (const each of invokes) {
      expect(invokes.filter((other) => invoker.runs(other.id).length > 0).at(-1)?.id).toBe(each.id);
      finish(invoker, each.id);
      await flushTasks();
    }
  });

  test("a sleep survives suspension and wakes the invocation when it is due", async () => {
    const { partitions, invoker, invocation, clock } = await world();
    const invoke = invocation(plainTarget);
    partitions.invoke(invoke, false, listen());
    await flushTasks();
    const dueAtMs = clock.nowMs() + 5_000;
    invoker.host.submit(sleepOf(invoke.id, 1, 1, dueAtMs));
    const awaiting = { combinator: "firstCompleted", completions: [1], signalIndexes: [1], signalNames: [], nested: [] } as const;
    invoker.host.submit(suspendOf(invoke.id, 1, [1], { awaiting }));
    await flushTasks();
    expect((await partitions.describe(invoke.id))?.status).toBe("suspended");
    clock.advanceTo(clock.nowMs() + 4_999);
    await flushTasks();
    expect(invoker.runs(invoke.id)).toHaveLength(1);
    clock.advanceTo(clock.nowMs() + 2);
    await flushTasks();
    expect(invoker.runs(invoke.id)).toHaveLength(2);
    expect((await partitions.describe(invoke.id))?.journal).toMatchObject({ length: 3, commands: 2, notifications: 1 });
  });

  test("timers that are due at one moment all fire, also when they are more than one page", async () => {
    const { partitions, invoker, invocation, clock } = await world();
    const random = new SeededRandom(7);
    const executionTimeMs = clock.nowMs() + 5_000;
    const ids: InvocationId[] = [];
    while (ids.length <= 2 * TIMER_PAGE) {
      const id = newInvocationId(plainTarget, clock.nowMs(), random);
      if (partitionOf(id, PARTITIONS) === 0) ids.push(id);
    }
    for (const id of ids) partitions.invoke(invocation(plainTarget, { id, executionTimeMs }), false, listen());
    await flushTasks();
    clock.advanceTo(executionTimeMs);
    await flushTasks();
    expect(ids.filter((id) => invoker.runs(id).length === 1)).toEqual(ids);
  });

  test("the same idempotency key attaches to the first invocation", async () => {
    const { partitions, invoker, invocation } = await world();
    const id = idempotentInvocationId(plainTarget, "once");
    const [first, second] = [listen(), listen()];
    partitions.invoke(invocation(plainTarget, { id, idempotencyKey: "once" }), true, first);
    partitions.invoke(invocation(plainTarget, { id, idempotencyKey: "once" }), true, second);
    await flushTasks();
    finish(invoker, id);
    await flushTasks();
    expect(first.events).toEqual(["accepted", "out"]);
    expect(second.events).toEqual(["previous", "out"]);
  });

  test("a call creates the callee and its result is stored in the caller's journal", async () => {
    const { partitions, invoker, invocation } = await world();
    const caller = invocation(plainTarget);
    partitions.invoke(caller, false, listen());
    await flushTasks();
    const callee = invocation(objectTarget("x"));
    expect(partitionOf(callee.id, PARTITIONS)).not.toBe(partitionOf(caller.id, PARTITIONS));
    invoker.host.submit({ ...callOf(caller.id, 1, callee.facts, 1, 2), ackRequested: true });
    await flushTasks();
    expect(invoker.effects.filter((effect) => effect.kind === "entryStored").map((effect) => effect.delivery)).toEqual([
      { kind: "nothing" },
      { kind: "push", thenAck: 1 },
    ]);
    finish(invoker, callee.id, "from callee");
    await flushTasks();
    const pushed = invoker.effects.filter((effect) => effect.kind === "entryStored" && effect.id === caller.id).at(-1);
    expect(pushed).toMatchObject({ entry: { type: MessageType.CallCompletion } });
  });

  test("killing the caller kills the callee", async () => {
    const { partitions, invoker, invocation } = await world();
    const caller = invocation(plainTarget);
    partitions.invoke(caller, false, listen());
    await flushTasks();
    const callee = invocation(objectTarget("x"));
    invoker.host.submit(callOf(caller.id, 1, callee.facts, 1));
    await flushTasks();
    expect(await partitions.submit({ kind: "kill", id: caller.id })).toEqual({ kind: "done" });
    expect(await partitions.output(callee.id)).toMatchObject({
      kind: "completed",
      completion: { outcome: { failure: { code: 409, message: "killed" } } },
    });
  });

  test("a new leader on the same store runs what was running and keeps what was queued", async () => {
    const kv = new MemoryKeyValue();
    const before = await world(kv);
    const [first, second] = [before.invocation(objectTarget("k")), before.invocation(objectTarget("k"))];
    before.partitions.invoke(first, false, listen());
    before.partitions.invoke(second, false, listen());
    await flushTasks();

    const after = await world(kv);
    await flushTasks();
    expect(before.invoker.runs(first.id).map(({ isRecovered }) => isRecovered)).toEqual([undefined]);
    expect(after.invoker.runs(first.id).map(({ isRecovered }) => isRecovered)).toEqual([true]);
    expect(after.invoker.runs(second.id)).toHaveLength(0);
    finish(after.invoker, first.id);
    await flushTasks();
    expect(after.invoker.runs(second.id)).toHaveLength(1);
  });

  test("a start that fails ends the runs that it has begun, and nothing of it is stored", async () => {
    const kv = new MemoryKeyValue();
    const before = await world(kv);
    const running = before.invocation(plainTarget);
    before.partitions.invoke(running, false, listen());
    await flushTasks();

    const invokers: ScriptedInvoker[] = [];
    const store = storeOf(kv);
    const stored = store.timers.bind(store);
    store.timers = (partition, group, ...page) =>
      group === "precise"
        ? Promise.reject(new PerdureError("STO0001", "the store gave no answer"))
        : stored(partition, group, ...page);
    const invoker = (host: InvokerHost): ScriptedInvoker => {
      const made = new ScriptedInvoker(host);
      invokers.push(made);
      return made;
    };
    await expect(world(kv, { store, invoker })).rejects.toMatchObject({ code: "STO0001" });
    const [begun] = invokers;
    expect(begun?.runs(running.id)).toHaveLength(1);
    expect(begun?.isDisposed).toBe(true);
    finish(begun as ScriptedInvoker, running.id);
    await flushTasks();

    const after = await world(kv);
    await flushTasks();
    expect(after.invoker.runs(running.id)).toHaveLength(1);
  });

  test("clearing all state waits for rows and keeps the order of later commands", async () => {
    const { partitions, invoker, invocation } = await world();
    const first = invocation(objectTarget("k"));
    partitions.invoke(first, false, listen());
    await flushTasks();
    invoker.host.submit(setStateOf(first.id, 1, "a", "1"));
    invoker.host.submit(commandOf(first.id, 1, { kind: "clearAllState", name: "" }));
    invoker.host.submit(setStateOf(first.id, 1, "b", "2"));
    finish(invoker, first.id);
    await flushTasks();
    expect((await partitions.describe(first.id))?.status).toBe("completed");
    expect([...(await invoker.host.readState(first.id, "O", "k")).keys()]).toEqual(["b"]);
  });

  test("state read while commits of others continue is cached, and not when the object itself is written", async () => {
    const kv = new MemoryKeyValue();
    let scans = 0;
    const scan = kv.scan.bind(kv);
    kv.scan = (from, to, options) => {
      if (from[2] === "s") scans++;
      return scan(from, to, options);
    };
    const { partitions, invoker, invocation } = await world(kv);
    scans = 0; // The take-over has read the notes of undo.
    const own = invocation(objectTarget("k"));
    partitions.invoke(own, false, listen());
    await flushTasks();

    const read = invoker.host.readState(own.id, "O", "k");
    partitions.invoke(invocation(objectTarget("k")), false, listen()); // A commit of the same partition, but not of the state.
    await read;
    await flushTasks();
    expect(await invoker.host.readState(own.id, "O", "k")).toEqual(new Map());
    expect(scans).toBe(1);

    invoker.host.submit(setStateOf(own.id, 1, "a", "1"));
    await flushTasks();
    expect([...(await invoker.host.readState(own.id, "O", "k")).keys()]).toEqual(["a"]);
  });

  test("large entries and states are reported as garbage when they are stored, and when they are read for an attempt", async () => {
    const { partitions, invoker, invocation, garbage } = await world();
    const invoke = invocation(objectTarget("k"));
    partitions.invoke(invoke, false, listen());
    invoker.host.submit(setStateOf(invoke.id, 1, "small", "1"));
    await flushTasks();
    await invoker.host.readState(invoke.id, "O", "k");
    expect(garbage).toEqual([]);

    const large = LARGE_PAYLOAD_BYTES;
    const around = 100;
    invoker.host.submit(setStateOf(invoke.id, 1, "large", "x".repeat(large)));
    await flushTasks();
    await invoker.host.readState(invoke.id, "O", "k");
    await invoker.host.readJournal(invoke.id, 3);
    expect(garbage.map((bytes) => bytes >= large && bytes < large + around)).toEqual([true, true, true]);
  });

  test("purging by retention deletes the record and its journal", async () => {
    const { partitions, invoker, invocation, clock, kv } = await world();
    const invoke = invocation(plainTarget);
    partitions.invoke(invoke, false, listen());
    await flushTasks();
    finish(invoker, invoke.id);
    await flushTasks();
    for (let passed = 0; passed < 62; passed++) {
      clock.advanceTo(clock.nowMs() + 1_000);
      await flushTasks();
    }
    expect(await partitions.output(invoke.id)).toEqual({ kind: "notFound" });
    expect([...kv.snapshot().keys()].filter((key) => key[2] !== "e")).toEqual([]);
  });

  test("purging a workflow deletes its state and its promises, which are read one after the other", async () => {
    const { partitions, invoker, invocation, clock, kv } = await world();
    const run = invocation(workflowTarget("w"));
    partitions.invoke(run, false, listen());
    await flushTasks();
    invoker.host.submit(setStateOf(run.id, 1, "a", "1"));
    invoker.host.submit(completePromiseOf(run.id, 1, "p", 1, { kind: "value", value: utf8("1") }));
    finish(invoker, run.id);
    await flushTasks();
    for (let passed = 0; passed < 62; passed++) {
      clock.advanceTo(clock.nowMs() + 1_000);
      await flushTasks();
    }
    expect(await partitions.output(run.id)).toEqual({ kind: "notFound" });
    expect([...kv.snapshot().keys()].filter((row) => row[2] !== "e")).toEqual([]);
  });
});
