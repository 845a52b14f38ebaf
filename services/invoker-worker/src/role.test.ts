import { expect, test } from "@jest/globals";
import { type InvocationId, newDeploymentId, newInvocationId, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { invokerDefaults } from "@perdure/invoker";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { createInvokerWorker, type InvokerWorker } from "./role.js";
import { countUnfinished } from "./usage.js";

const EMPTY: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };
const nowhere: EndpointTransport = {
  open() {
    throw new Error("nothing is registered, so no endpoint is called");
  },
  async [Symbol.asyncDispose]() {},
};

function start(store: KvPartitionStore): Promise<InvokerWorker> {
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
    },
    { partitionCount: 4, cleanupIntervalMs: 60_000, invoker: invokerDefaults },
  );
}

function submit(worker: InvokerWorker, service: string): Promise<InvocationId> {
  const id = newInvocationId({ service, key: undefined, handler: "greet" }, systemClock.nowMs(), systemRandom);
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
  return new Promise((resolve, reject) => {
    worker.partitions.invoke({ kind: "invoke", id, facts, input: new Uint8Array(), sink: undefined }, false, {
      submitted: () => resolve(id),
      completed: () => undefined,
      unavailable: (reason) => reject(new Error(reason)),
    });
  });
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
