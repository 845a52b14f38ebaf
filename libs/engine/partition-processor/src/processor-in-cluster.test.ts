/** A processor whose store is behind a network and whose leadership may be lost at any moment. */
import { describe, expect, test } from "@jest/globals";
import { PerdureError, silentLogger } from "@perdure/base";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import type { CommandAnswer, StartRun } from "@perdure/state-machine";
import { anId, endOf, invokeOf, outputOf, someFacts } from "@perdure/state-machine/testing";
import { type AsyncPartitionStore, KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { behindNetwork } from "@perdure/storage/testing";
import { VirtualClock } from "@perdure/testkit";
import { NO_RULES } from "./flow/flow-control.js";
import { LoopbackPeers } from "./outbox/loopback-peers.js";
import { Processor } from "./processor.js";
import { idleInvoker } from "./testing/idle-invoker.js";

const flushTasks = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

function starting(store: AsyncPartitionStore, signal?: AbortSignal, invoker: Partial<Invoker> = {}) {
  const clock = new VirtualClock();
  const started: StartRun[] = [];
  const failures: PerdureError["code"][] = [];
  let host: InvokerHost | undefined;
  const processor = Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (given) => {
        host = given;
        return idleInvoker({ startRun: (effect) => started.push(effect), ...invoker });
      },
      rules: NO_RULES,
      peers: new LoopbackPeers(),
      onFenced: () => undefined,
      onFatal: ({ code }) => failures.push(code),
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 60_000 },
    signal,
  );
  return { processor, clock, started, failures, host: () => host as InvokerHost };
}

const INVOKE = invokeOf(someFacts({ id: anId(1), requestId: 7 }));

/** Adds the kind of each answer to `answers`. */
const collecting = (answers: CommandAnswer["kind"][]) => ({ answered: ({ kind }: CommandAnswer) => void answers.push(kind) });

describe("a processor in a cluster", () => {
  test("does not accept a request again that arrives after its own repetition, over a connection that was given up", async () => {
    const { processor, started } = starting(behindNetwork(new KvPartitionStore(new MemoryKeyValue())));
    const answers: CommandAnswer["kind"][] = [];
    const receiver = collecting(answers);
    const leader = await processor;
    leader.submit({ ...INVOKE, resubmission: true }, receiver);
    await flushTasks();
    leader.submit(INVOKE, receiver);
    await flushTasks();
    expect(answers).toEqual(["accepted", "accepted"]);
    expect(started).toHaveLength(1);
    await leader[Symbol.asyncDispose]();
  });

  const readsOfAnAttempt: readonly (readonly [what: string, read: (host: InvokerHost) => Promise<unknown>])[] = [
    ["state", (host) => host.readState(INVOKE.id, "Greeter", "key")],
    ["journal", (host) => host.readJournal(INVOKE.id, 1)],
  ];
  test.each(readsOfAnAttempt)("stops leading when the %s of an attempt is of another data set", async (_, read) => {
    const lost = (): never => {
      throw new PerdureError("STO0005", "the partition has no mark");
    };
    const store = behindNetwork(new KvPartitionStore(new MemoryKeyValue()));
    const stateOf: typeof store.stateOf = async (partition, service, key) =>
      service === "Greeter" ? lost() : store.stateOf(partition, service, key);
    const { processor, failures, host } = starting({ ...store, stateOf, readJournal: async () => lost() });
    const leader = await processor;
    await expect(read(host())).rejects.toMatchObject({ code: "STO0005" });
    expect(failures).toEqual(["STO0005"]);
    expect(leader.leads(INVOKE.id)).toBe(false);
    expect(leader.submit(INVOKE, undefined)).toBe(false);
  });

  describe("that hands its partition over", () => {
    /** A leader with a running invocation, whose attempts end when the test ends them. */
    async function handingOver(attemptsMs: number) {
      const kv = new MemoryKeyValue();
      const attempts = Promise.withResolvers<void>();
      let isAborted = false;
      const own: Partial<Invoker> = {
        finishAttempts: () => attempts.promise,
        [Symbol.asyncDispose]: async () => {
          isAborted = true;
        },
      };
      const { processor, clock, host } = starting(behindNetwork(new KvPartitionStore(kv)), undefined, own);
      const leader = await processor;
      leader.submit(INVOKE, undefined);
      await flushTasks();
      let isOver = false;
      void leader.yield(attemptsMs).then(() => {
        isOver = true;
      });
      await flushTasks();
      return { kv, leader, clock, host: host(), attempts, isOver: () => isOver, isAborted: () => isAborted };
    }

    test("stores the commands of attempts that end meanwhile, serves callers, and stops when the last attempt has ended", async () => {
      const { kv, leader, host, attempts, isOver, isAborted } = await handingOver(1_000);
      expect([isOver(), isAborted()]).toEqual([false, false]);
      const answers: CommandAnswer["kind"][] = [];
      expect(leader.submit(invokeOf(someFacts({ id: anId(2), requestId: 8 })), collecting(answers))).toBe(true);
      host.submit(outputOf(INVOKE.id, 1, "done"));
      host.submit(endOf(INVOKE.id, 1));
      attempts.resolve();
      await flushTasks();
      expect(answers).toEqual(["accepted"]);
      expect([isOver(), isAborted(), leader.leads(INVOKE.id)]).toEqual([true, true, false]);
      const reads = new KvPartitionStore(kv).reads;
      expect(reads.invocation(0, INVOKE.id)?.status).toBe("completed");
      expect(reads.invocation(0, anId(2))?.status).toBe("invoked"); // The next leader runs it.
    });

    test("aborts those that take longer than they may, and nothing is written after that", async () => {
      const { kv, clock, host, isOver, isAborted } = await handingOver(1_000);
      clock.advanceBy(999);
      await flushTasks();
      expect([isOver(), isAborted()]).toEqual([false, false]);
      clock.advanceBy(1);
      await flushTasks();
      expect([isOver(), isAborted()]).toEqual([true, true]);
      const before = kv.snapshot();
      host.submit(outputOf(INVOKE.id, 1, "too late"));
      host.submit(endOf(INVOKE.id, 1));
      await flushTasks();
      expect(kv.snapshot()).toEqual(before);
    });

    test("ends at once when its leadership is lost meanwhile", async () => {
      const { leader, attempts, isOver, isAborted } = await handingOver(1_000);
      leader.abandon("the lease ended");
      expect(isAborted()).toBe(true);
      attempts.resolve(); // As a disposed invoker does.
      await flushTasks();
      expect(isOver()).toBe(true);
    });
  });

  test("runs no handlers when leadership is lost during the start, whatever it is reading then", async () => {
    const store = behindNetwork(new KvPartitionStore(new MemoryKeyValue()));
    const before = await starting(store).processor;
    before.submit(INVOKE, undefined);
    await flushTasks();
    before.abandon("it died");

    const lost = new AbortController();
    const { processor, started } = starting(
      {
        ...store,
        outbox: async (...args) => {
          lost.abort();
          return store.outbox(...args);
        },
      },
      lost.signal,
    );
    await expect(processor).rejects.toMatchObject({ code: "STO0002" });
    expect(started).toEqual([]);

    const next = starting(store);
    await (await next.processor)[Symbol.asyncDispose]();
    expect(next.started).toHaveLength(1);
  });
});
