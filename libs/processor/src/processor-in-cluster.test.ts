/** What a processor holds to when its store is behind a network and its lead may be lost at any moment. */
import { describe, expect, test } from "@jest/globals";
import { PerdureError, silentLogger } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { Answer, StartRun } from "@perdure/partition";
import { anId, invokeOf, someFacts } from "@perdure/partition/testing";
import { type AsyncPartitionStore, KvPartitionStore, MemoryKeyValue } from "@perdure/store";
import { behindNetwork } from "@perdure/store/testing";
import { VirtualClock } from "@perdure/testkit";
import { NO_RULES } from "./flow-control.js";
import { LoopbackPeers } from "./loopback-peers.js";
import { Processor } from "./processor.js";
import { idleInvoker } from "./testing/idle-invoker.js";

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

function starting(store: AsyncPartitionStore, signal?: AbortSignal) {
  const started: StartRun[] = [];
  const failures: PerdureError["code"][] = [];
  let host: InvokerHost | undefined;
  const processor = Processor.start(
    {
      store,
      clock: new VirtualClock(),
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (given) => {
        host = given;
        return idleInvoker({ startRun: (effect) => started.push(effect) });
      },
      rules: NO_RULES,
      peers: new LoopbackPeers(),
      onFenced: () => undefined,
      onFatal: ({ code }) => failures.push(code),
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 60_000 },
    signal,
  );
  return { processor, started, failures, host: () => host as InvokerHost };
}

const INVOKE = invokeOf(someFacts({ id: anId(1), requestId: 7 }));

describe("a processor in a cluster", () => {
  test("does not accept again what arrives after its own repetition, over a connection that was given up", async () => {
    const { processor, started } = starting(behindNetwork(new KvPartitionStore(new MemoryKeyValue())));
    const answers: Answer["kind"][] = [];
    const leader = await processor;
    leader.submit({ ...INVOKE, resubmission: true }, ({ kind }) => answers.push(kind));
    await settle();
    leader.submit(INVOKE, ({ kind }) => answers.push(kind));
    await settle();
    expect(answers).toEqual(["accepted", "accepted"]);
    expect(started).toHaveLength(1);
    await leader[Symbol.asyncDispose]();
  });

  const readsOfAnAttempt: readonly (readonly [what: string, read: (host: InvokerHost) => Promise<unknown>])[] = [
    ["state", (host) => host.readState(INVOKE.id, "Greeter", "key")],
    ["journal", (host) => host.readJournal(INVOKE.id, 1)],
  ];
  test.each(readsOfAnAttempt)("leads no more when the %s of an attempt is of another data set", async (_, read) => {
    const lost = (): never => {
      throw new PerdureError("STO0005", "the partition has no mark");
    };
    const store = behindNetwork(new KvPartitionStore(new MemoryKeyValue()));
    const { processor, failures, host } = starting({ ...store, stateOf: async () => lost(), readJournal: async () => lost() });
    const leader = await processor;
    await expect(read(host())).rejects.toMatchObject({ code: "STO0005" });
    expect(failures).toEqual(["STO0005"]);
    expect(leader.leads(INVOKE.id)).toBe(false);
    expect(leader.submit(INVOKE, undefined)).toBe(false);
  });

  test("runs nobody's handlers when the lead is lost while it is taken, whatever it is reading then", async () => {
    const store = behindNetwork(new KvPartitionStore(new MemoryKeyValue()));
    const before = await starting(store).processor;
    before.submit(INVOKE, undefined);
    await settle();
    before.abandon("it died");

    const lost = new AbortController();
    const { processor, started } = starting(
      {
        ...store,
        outbox: async (...asked) => {
          lost.abort();
          return store.outbox(...asked);
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
