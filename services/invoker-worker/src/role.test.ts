import { describe, expect, test } from "@jest/globals";
import {
  type InvocationId,
  newDeploymentId,
  newInvocationId,
  PartitionSubset,
  partitionOf,
  partitionsOfThread,
  silentLogger,
  systemClock,
  systemRandom,
} from "@perdure/base";
import type { Courier, Partitions, RegistrySnapshot } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { invokerDefaults } from "@perdure/invoker";
import type { Invoke } from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { liveWorkerOf } from "./live-worker.js";
import { createInvokerWorker, type InvokerWorker } from "./role.js";
import { countUnfinished } from "./usage.js";

const EMPTY: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };
const nowhere: EndpointTransport = {
  open() {
    throw new Error("nothing is registered, so no endpoint is called");
  },
  async [Symbol.asyncDispose]() {},
};

const PARTITIONS = 4;

/** `remote` leads the partitions that are not `partitions`. */
function start(store: KvPartitionStore, remote?: Partitions & Courier, partitions?: readonly number[]): Promise<InvokerWorker> {
  return createInvokerWorker(
    {
      store,
      registry: { current: () => EMPTY, onChange: () => () => undefined },
      transports: { http: nowhere, lambda: undefined },
      tracing: undefined,
      identity: undefined,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: undefined,
      onFatal: (error) => {
        throw error;
      },
      remote,
    },
    { partitionCount: PARTITIONS, partitions, cleanupIntervalMs: 60_000, invoker: invokerDefaults },
  );
}

/** In any partition, or in this one. */
function submit(worker: InvokerWorker, service: string, partition?: number): Promise<InvocationId> {
  const command = invokeOf(service, partition);
  return new Promise((resolve, reject) => {
    worker.partitions.invoke(command, false, {
      submitted: () => resolve(command.id),
      completed: () => undefined,
      unavailable: (reason) => reject(new Error(reason)),
    });
  });
}

function invokeOf(service: string, partition?: number): Invoke {
  const preferred = partition === undefined ? undefined : new PartitionSubset([partition], PARTITIONS);
  const id = newInvocationId({ service, key: undefined, handler: "greet" }, systemClock.nowMs(), systemRandom, preferred);
  const facts = {
    id,
    target: { scope: undefined, service, key: undefined, handler: "greet", serviceType: "service", handlerType: "shared" },
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: 3,
    requestId: 0,
    createdAtMs: systemClock.nowMs(),
    executionTimeMs: undefined,
    completionRetentionMs: 0,
    journalRetentionMs: 0,
    randomSeed: undefined,
    trace: undefined,
    bytes: undefined,
  } as const;
  return { kind: "invoke", id, facts, input: new Uint8Array(), sink: undefined };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => void setImmediate(resolve));
}

const deployment = newDeploymentId(0, systemRandom);

test("an invocation is led, tried, and counted against its service until it ends", async () => {
  await using store = new KvPartitionStore(new MemoryKeyValue());
  await using worker = await start(store);
  const id = await submit(worker, "Greeter");
  await submit(worker, "Other");
  await until(() => worker.status(id)?.lastFailure?.errorCode === "RT0011");
  expect([...worker.statuses()].map((status) => status.id)).toContain(id);
  const usage = await countUnfinished(store, [0, 1, 2, 3], deployment, ["Greeter", "Idle"]);
  expect(usage).toEqual({
    pinned: 0,
    unfinishedByService: new Map([
      ["Greeter", 1],
      ["Idle", 0],
    ]),
  });
});

test("a worker that starts on a store continues its invocations", async () => {
  await using store = new KvPartitionStore(new MemoryKeyValue());
  let id: InvocationId;
  {
    await using first = await start(store);
    id = await submit(first, "Greeter");
  }
  await using second = await start(store);
  await until(() => second.status(id)?.lastFailure !== undefined);
  expect(await second.partitions.describe(id)).toMatchObject({ status: "invoked", facts: { target: { service: "Greeter" } } });
});

describe("workers that lead some partitions of one store", () => {
  /** Passes requests to the other worker in a later round of the event loop, as a thread does. */
  class OtherThread implements Partitions, Courier {
    worker: InvokerWorker | undefined;

    get #partitions(): Partitions {
      if (this.worker === undefined) throw new Error("the other worker has not started");
      return this.worker.served.partitions;
    }

    readonly invoke: Partitions["invoke"] = (...args) => {
      setImmediate(() => this.#partitions.invoke(...args));
      return { detach: () => undefined };
    };
    readonly attach: Partitions["attach"] = (...args) => this.#partitions.attach(...args);
    readonly output: Partitions["output"] = (id) => this.#partitions.output(id);
    readonly describe: Partitions["describe"] = (id) => this.#partitions.describe(id);
    readonly submit: Partitions["submit"] = (command) => this.#partitions.submit(command);
    readonly deliver: Courier["deliver"] = ({ command, producer, seq, after }, delivered, undelivered) =>
      void setImmediate(() => {
        const isAccepted = this.worker?.served.deliver(command, producer, seq, delivered, after, undelivered) ?? false;
        if (!isAccepted) undelivered();
      });
  }

  async function startBoth(kv = new MemoryKeyValue()) {
    const stack = new AsyncDisposableStack();
    const remotes = [new OtherThread(), new OtherThread()] as const;
    const workers = [];
    for (const [thread, remote] of remotes.entries()) {
      const store = stack.use(new KvPartitionStore(kv));
      const { partitions } = partitionsOfThread(thread, 2, PARTITIONS);
      const worker = stack.use(await start(store, remote, partitions));
      remotes[1 - thread]!.worker = worker;
      workers.push(worker);
    }
    const [first, second] = workers as [InvokerWorker, InvokerWorker];
    return { first, second, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test("serve every partition, each from its leader", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const [leader, other] = partition % 2 === 0 ? [first, second] : [second, first];
      const id = await submit(other, "Greeter", partition);
      await until(() => leader.status(id)?.lastFailure !== undefined);
      expect(other.status(id)).toBeUndefined();
      expect(await other.partitions.describe(id)).toMatchObject({ facts: { id } });
      expect([leader.served.leads(id), other.served.leads(id)]).toEqual([true, false]);
      expect([leader.served.epochOf(id), other.served.epochOf(id)]).toEqual([leader.epochOf(partition), undefined]);
      expect(await other.partitions.submit({ kind: "kill", id })).toEqual({ kind: "done" });
    }
    expect([first.leaderPartitions(), second.leaderPartitions()]).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  test("accept a record of a topic once, wherever its partition is led", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    const command = invokeOf("Greeter", 1);
    const deliver = (worker: InvokerWorker): Promise<boolean> =>
      new Promise((resolve) =>
        worker.deliveries.deliver(
          { command, producer: "topic", seq: 1, after: undefined },
          () => resolve(true),
          () => resolve(false),
        ),
      );
    expect([await deliver(first), await deliver(second), await deliver(first)]).toEqual([true, true, true]);
    expect([first, second].map((worker) => worker.population().invoked)).toEqual([0, 1]);
  });

  test("report about the partitions that they lead", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    const ids = [await submit(first, "Greeter", 0), await submit(first, "Greeter", 1), await submit(first, "Greeter", 3)];
    const parts = { subscriptionStatuses: () => [], clock: systemClock, sinceMs: 7 };
    const [one, two] = [first, second].map((worker, n) => liveWorkerOf({ worker, id: `thread ${n}`, ...parts }));
    await until(() => [...(two?.statuses() ?? [])].length === 2);
    expect([...(one?.statuses() ?? [])].map(({ id }) => id)).toEqual([ids[0]]);
    expect(await two?.countUsage(deployment, ["Greeter"])).toMatchObject({ unfinishedByService: new Map([["Greeter", 2]]) });
    expect([first, second].map((worker) => worker.population().invoked)).toEqual([1, 2]);
    expect(two?.worker()).toMatchObject({ id: "thread 1", isDraining: false });
    expect(two?.worker().leading).toMatchObject([
      { partition: 1, sinceMs: 7 },
      { partition: 3, epoch: second.epochOf(3) },
    ]);
    expect(two?.traffic()).toMatchObject({ node: "thread 1", sinceMs: 7 });
  });

  test("continue what one worker that led all partitions began", async () => {
    const kv = new MemoryKeyValue();
    const ids: InvocationId[] = [];
    {
      await using store = new KvPartitionStore(kv);
      await using alone = await start(store);
      for (let n = 0; n < 8; n++) ids.push(await submit(alone, "Greeter"));
    }
    await using both = await startBoth(kv);
    const { first, second } = both;
    for (const id of ids) {
      const leader = partitionOf(id, PARTITIONS) % 2 === 0 ? first : second;
      await until(() => leader.status(id)?.lastFailure !== undefined);
    }
  });

  test("need the leaders of the other partitions", async () => {
    await using store = new KvPartitionStore(new MemoryKeyValue());
    await expect(start(store, undefined, [0, 1])).rejects.toThrow("a worker without other leaders leads every partition");
  });
});
