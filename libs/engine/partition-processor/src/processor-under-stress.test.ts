/** The processor while a commit is slow, fails or is refused, and while rows are read. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, PerdureError, partitionOf, silentLogger, utf8 } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { Invoke, StartRun, Target } from "@perdure/state-machine";
import {
  commandOf,
  endOf,
  invokeOf,
  objectTarget,
  outputOf,
  plainTarget,
  setStateOf,
  someFacts,
} from "@perdure/state-machine/testing";
import { type CommitOutcome, KvPartitionStore, MemoryKeyValue, type PartitionBatch } from "@perdure/storage";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { LocalPartitions } from "./callers/local-partitions.js";
import { NO_RULES } from "./flow/flow-control.js";
import { LoopbackPeers } from "./outbox/loopback-peers.js";
import { Processor } from "./processor.js";
import { idleInvoker } from "./testing/idle-invoker.js";

/** Commits wait until they are released, once `slow` is set; `fate` decides their result. */
class GatedStore extends KvPartitionStore {
  slow = false;
  fate: "written" | "fenced" | "broken" = "written";
  /** Responses of `stateOf` wait for this, after the rows have been read. */
  slowRead: Promise<void> = Promise.resolve();
  readonly #waiting: (() => void)[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Releases the oldest waiting commit. */
  async release(): Promise<void> {
    this.#waiting.shift()?.();
    await flushTasks();
  }

  override async stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const state = await super.stateOf(partition, service, key);
    await this.slowRead;
    return state;
  }

  override async commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    if (this.slow) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.fate === "fenced") return { kind: "fenced", partition: 0, by: 99 };
    if (this.fate === "broken") throw new PerdureError("STO0001", "the medium is gone");
    return super.commit(batches);
  }
}

const flushTasks = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};

async function world(kv = new MemoryKeyValue()) {
  const store = new GatedStore(kv);
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const peers = new LoopbackPeers();
  const started: StartRun[] = [];
  const stopped: string[] = [];
  let host: InvokerHost | undefined;
  const processor = await Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (given) => {
        host = given;
        return idleInvoker({
          startRun: (effect) => started.push(effect),
          [Symbol.asyncDispose]: async () => void stopped.push("attempts"),
        });
      },
      rules: NO_RULES,
      peers,
      onFenced: () => stopped.push("fenced"),
      onFatal: () => stopped.push("fatal"),
    },
    { partitions: [0, 1, 2, 3], partitionCount: 4, cleanupIntervalMs: 1_000 },
  );
  peers.connect(processor);
  const invocation = (target: Target): Invoke =>
    invokeOf(
      someFacts({
        id: newInvocationId(target, clock.nowMs(), random),
        target,
        requestId: random.uint32() + 1,
        createdAtMs: clock.nowMs(),
      }),
    );
  return {
    store,
    processor,
    partitions: new LocalPartitions(processor),
    host: host as InvokerHost,
    started,
    stopped,
    invocation,
  };
}

const setState = (host: InvokerHost, id: InvocationId, key: string, value: string): void =>
  host.submit(setStateOf(id, 1, key, value));
const clearAll = (host: InvokerHost, id: InvocationId): void =>
  host.submit(commandOf(id, 1, { kind: "clearAllState", name: "" }));

/** A caller that records every response. */
function listen() {
  const events: string[] = [];
  return {
    events,
    submitted: (previous: unknown) => events.push(previous === undefined ? "accepted" : "previous"),
    completed: (completion: { outcome: { kind: string } }) => events.push(completion.outcome.kind),
    unavailable: () => events.push("unavailable"),
    notFound: () => events.push("notFound"),
  };
}

async function running(target: Target) {
  const made = await world();
  const invoke = made.invocation(target);
  made.partitions.invoke(invoke, false, listen());
  await flushTasks();
  return { ...made, invoke };
}

describe("Processor under stress", () => {
  test("`settled` waits for messages that wait for rows: no command submitted before it is stored after it", async () => {
    const { host, store, invoke } = await running(objectTarget("k"));
    clearAll(host, invoke.id); // This has to read the state first.
    setState(host, invoke.id, "a", "1");
    const length = (): number | undefined => store.reads.invocation(partitionOf(invoke.id, 4), invoke.id)?.journal.length;
    const durableLength = await new Promise((resolve) => host.whenDurable(() => resolve(length())));
    await flushTasks();
    expect(length()).toBe(3);
    expect(durableLength).toBe(3);
  });

  test("a state read while its change is being written is not kept for later readers", async () => {
    const { host, store, invoke } = await running(objectTarget("k"));
    store.slow = true;
    setState(host, invoke.id, "a", "1");
    await flushTasks();
    expect(store.waiting).toBe(1);
    store.slowRead = new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(() => setImmediate(resolve)))));
    const during = host.readState(invoke.id, "O", "k");
    await store.release(); // It is durable before the response of the read, which was made before.
    expect(await during).toEqual(new Map());
    expect(await host.readState(invoke.id, "O", "k")).toEqual(new Map([["a", utf8("1")]]));
  });

  test("a partition that waits for rows continues although others never stop writing", async () => {
    const { host, store, partitions, invocation, invoke } = await running(objectTarget("k"));
    store.slow = true;
    const own = partitionOf(invoke.id, 4);
    const elsewhere = (): Invoke => {
      for (;;) {
        const other = invocation(plainTarget);
        if (partitionOf(other.id, 4) !== own) return other;
      }
    };
    partitions.invoke(elsewhere(), false, listen());
    await flushTasks();
    setState(host, invoke.id, "a", "1"); // It is not durable yet, so the state cannot be read yet.
    clearAll(host, invoke.id);
    setState(host, invoke.id, "b", "2");
    for (let commits = 0; commits < 6; commits++) {
      partitions.invoke(elsewhere(), false, listen());
      await flushTasks();
      expect(store.waiting).toBe(1); // There is always something to write.
      await store.release();
    }
    expect(store.reads.state(own, "O", "k", "b")).toEqual(utf8("2"));
  });

  test("a repeated submission gets an outcome that was missed", async () => {
    const { partitions, host, invoke } = await running(plainTarget);
    host.submit(outputOf(invoke.id, 1, "out"));
    host.submit(endOf(invoke.id, 1));
    await flushTasks();
    const again = listen();
    partitions.invoke({ ...invoke, resubmission: true }, true, again);
    await flushTasks();
    expect(again.events).toEqual(["accepted", "success"]);
  });

  test.each(["fenced", "broken"] as const)("every caller gets a response when the commit is %s", async (fate) => {
    const { store, partitions, invocation, invoke, stopped } = await running(plainTarget);
    store.slow = true;
    const waiting = listen();
    partitions.attach(invoke.id, waiting);
    await flushTasks();
    const [inCommit, inMailbox, detached] = [listen(), listen(), listen()];
    partitions.invoke(invocation(plainTarget), true, inCommit);
    await flushTasks();
    expect(store.waiting).toBe(1);
    partitions.invoke(invocation(plainTarget), false, inMailbox);
    partitions.invoke(invocation(plainTarget), true, detached).detach();
    const requests = Promise.allSettled([
      partitions.submit({ kind: "pause", id: invoke.id }),
      partitions.describe(invoke.id),
      partitions.output(invoke.id),
    ]);
    store.fate = fate;
    await store.release();
    expect([waiting.events, inCommit.events, inMailbox.events, detached.events]).toEqual([
      ["unavailable"],
      ["unavailable"],
      ["unavailable"],
      [],
    ]);
    for (const answer of await requests) expect(answer).toMatchObject({ status: "rejected", reason: { code: "STO0002" } });
    await expect(partitions.describe(invoke.id)).rejects.toMatchObject({ code: "STO0002" });
    // Attempts end first: one in back-off must not call an endpoint beside the next leader.
    expect(stopped).toEqual(["attempts", fate === "fenced" ? "fenced" : "fatal"]);
  });

  test.each(["fenced", "broken", "closed"] as const)(
    "messages of others are given back when the partition is %s",
    async (fate) => {
      const { store, processor, invocation } = await world();
      store.slow = true;
      const events: string[] = [];
      const deliver = (seq: number): boolean => {
        const note = (what: string) => () => events.push(`${seq} ${what}`);
        return processor.deliver(invocation(plainTarget), "p9", seq, note("delivered"), undefined, note("undelivered"));
      };
      expect(deliver(1)).toBe(true);
      await flushTasks();
      expect(store.waiting).toBe(1);
      deliver(2); // Waits behind the write under way.
      if (fate === "closed") processor.abandon("handed over");
      else store.fate = fate;
      await store.release();
      await flushTasks();
      expect(events).toEqual(["1 undelivered", "2 undelivered"]);
      expect(deliver(3)).toBe(false);
    },
  );

  test.each(["fenced", "broken"] as const)("closing ends when the last commit is %s", async (fate) => {
    const { store, processor, partitions, invocation } = await world();
    store.slow = true;
    partitions.invoke(invocation(plainTarget), false, listen());
    await flushTasks();
    const closed = processor[Symbol.asyncDispose]().then(() => "closed");
    store.fate = fate;
    await flushTasks();
    await store.release();
    expect(await Promise.race([closed, flushTasks().then(() => "still closing")])).toBe("closed");
  });
});
