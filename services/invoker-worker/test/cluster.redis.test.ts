/** Workers of a cluster on a real Redis: who leads what, how that moves, and that nothing accepted is lost on the way. */
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, PerdureError, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import { partitionsDefinition, partitionsHandlers, SERVER_OPTIONS, serverCredentials } from "@perdure/driver-grpc";
import { connectRedis, RedisLeases, RedisMembership, RedisPartitionStore } from "@perdure/driver-redis";
import { type EndpointTransport, invokerDefaults } from "@perdure/invoker";
import type { InvocationFacts, Invoke } from "@perdure/partition";
import { type RedisServer, startRedis } from "@perdure/servers";
import { encodeInput } from "@perdure/service-protocol";
import type { Leases, Membership } from "@perdure/store";
import { type ClusterWorker, createClusterWorker } from "../src/cluster/cluster-worker.js";
import { MEMBER_MS } from "../src/cluster/limits.js";

const PARTITIONS = 8;
const EMPTY: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };
const nowhere: EndpointTransport = {
  open() {
    throw new Error("nothing is registered, so nobody is called");
  },
  async [Symbol.asyncDispose]() {},
};

let redis: RedisServer;
let environments = 0;
let environment = "";
const running = new Set<Running>();

beforeAll(async () => {
  redis = await startRedis();
}, 120_000);
afterEach(async () => {
  for (const each of running) await each[Symbol.asyncDispose]();
}, 60_000);
afterAll(() => redis[Symbol.asyncDispose]());

/** A worker with all that its process would have. */
interface Running extends AsyncDisposable {
  readonly worker: ClusterWorker;
  /** From now on nothing it asks of Redis about leases is answered. */
  cutOff(): void;
}

async function start(id: string): Promise<Running> {
  const ports = { clock: systemClock, logger: silentLogger };
  const connections = await connectRedis({ nodes: [{ host: "127.0.0.1", port: redis.port }] }, ports);
  let isCut = false;
  const leases = silenced<Leases>(new RedisLeases(connections, { environment, worker: id }, systemClock), () => isCut);
  const membership = silenced<Membership>(new RedisMembership(connections, { environment, memberMs: MEMBER_MS }), () => isCut);
  const server = new Server(SERVER_OPTIONS);
  const served: { worker?: ClusterWorker } = {};
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", serverCredentials(undefined), (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  const worker = await createClusterWorker(
    {
      ...ports,
      store: new RedisPartitionStore(connections, { environment, holder: id }),
      leases,
      membership,
      registry: { current: () => EMPTY, onChange: () => () => undefined },
      transports: { http: nowhere, lambda: undefined },
      identity: undefined,
      random: systemRandom,
      metrics: undefined,
      tls: undefined,
    },
    { id, address: `127.0.0.1:${port}`, partitionCount: PARTITIONS, cleanupIntervalMs: 60_000, invoker: invokerDefaults },
  );
  served.worker = worker;
  server.addService(partitionsDefinition, partitionsHandlers(worker.served));
  const one: Running = {
    worker,
    cutOff() {
      isCut = true;
    },
    async [Symbol.asyncDispose]() {
      if (!running.delete(one)) return;
      isCut = false;
      await worker[Symbol.asyncDispose]();
      server.forceShutdown();
      await connections[Symbol.asyncDispose]();
    },
  };
  running.add(one);
  return one;
}

/** The same port, deaf when told so. */
function silenced<T extends object>(port: T, isCut: () => boolean): T {
  return new Proxy(port, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      const noAnswer = () => sleep(2_000).then(() => Promise.reject(new PerdureError("STO0001", "no answer")));
      return (...args: unknown[]) => (isCut() ? noAnswer() : method.apply(target, args));
    },
  });
}

async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<number> {
  const from = performance.now();
  while (!(await holds())) {
    if (performance.now() - from > withinMs) throw new Error(`not in time: ${what}`);
    await sleep(10);
  }
  return performance.now() - from;
}

const counts = (...workers: Running[]): number[] => workers.map(({ worker }) => worker.leading().length).sort();
const all = (...workers: Running[]): number[] => workers.flatMap(({ worker }) => worker.leading()).sort((a, b) => a - b);
const EVERY = Array.from({ length: PARTITIONS }, (_, partition) => partition);

function anInvoke(): Invoke {
  const nowMs = systemClock.nowMs();
  const id = newInvocationId({ service: "S", key: undefined, handler: "h" }, nowMs, systemRandom);
  const facts: InvocationFacts = {
    id,
    target: { scope: undefined, service: "S", key: undefined, handler: "h", serviceType: "service", handlerType: "shared" },
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: 3,
    requestId: systemRandom.uint32() + 1,
    createdAtMs: nowMs,
    executionTimeMs: undefined,
    completionRetentionMs: 60_000,
    journalRetentionMs: 60_000,
    randomSeed: undefined,
    trace: undefined,
    bytes: undefined,
  };
  return { kind: "invoke", id, facts, input: encodeInput([], new Uint8Array([1])), sink: undefined };
}

const submit = (from: Running): Promise<InvocationId> => {
  const command = anInvoke();
  return new Promise((resolve, reject) => {
    from.worker.partitions.invoke(command, false, {
      submitted: () => resolve(command.id),
      completed: () => undefined,
      unavailable: (reason) => reject(new Error(reason)),
    });
  });
};

/** Each test has Redis for itself. */
async function cluster(...ids: string[]): Promise<Running[]> {
  environment = `env_${++environments}`;
  const workers: Running[] = [];
  for (const id of ids) workers.push(await start(id));
  await until("all is led", () => all(...workers).length === PARTITIONS);
  return workers;
}

describe("workers of a cluster", () => {
  test("share the partitions evenly, also when one joins and when one leaves", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    await until("an even share", () => counts(a, b).join() === "4,4");
    const c = await start("c");
    await until("a share for the third", () => counts(a, b, c).join() === "2,3,3" && all(a, b, c).join() === EVERY.join());
    await c.worker.drain();
    expect(c.worker.leading()).toEqual([]);
    await until("all is led again", () => all(a, b).join() === EVERY.join());
    await b[Symbol.asyncDispose]();
    await until("one leads all", () => all(a).join() === EVERY.join());
  }, 60_000);

  test("answer for partitions that others lead, and each accepted invocation is led by exactly one", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => submit(n % 2 === 0 ? a : b)));
    for (const id of ids) expect((await a.worker.partitions.describe(id))?.status).toBe("invoked");
    await until("all are tried", () =>
      ids.every((id) => [a, b].filter(({ worker }) => worker.led.status(id) !== undefined).length === 1),
    );
    expect(await b.worker.partitions.submit({ kind: "kill", id: ids[0] as InvocationId })).toEqual({ kind: "done" });
    expect(await a.worker.partitions.output(ids[0] as InvocationId)).toMatchObject({ kind: "completed" });
  }, 60_000);

  test("take over from one that falls silent within three seconds, with everything it had accepted", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    await until("an even share", () => counts(a, b).join() === "4,4");
    const ids = await Promise.all(Array.from({ length: 100 }, () => submit(a)));
    b.cutOff();
    const tookMs = await until("one leads all", () => all(a).join() === EVERY.join());
    expect(tookMs).toBeLessThan(4_000); // The promise is three seconds; this machine may be busy.
    expect(b.worker.leading()).toEqual([]);
    for (const id of ids) expect((await a.worker.partitions.describe(id))?.status).toBe("invoked");
    await until("all are tried again", () => ids.every((id) => a.worker.led.status(id) !== undefined));
  }, 60_000);

  test("hold on through a Redis that is killed and comes back, and lose nothing it acknowledged", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    const ids = await Promise.all(Array.from({ length: 100 }, () => submit(a)));
    await redis.kill();
    await sleep(3_000); // Longer than a lease.
    expect(all(a, b)).toEqual([]);
    await redis.start();
    await until("all is led again", () => all(a, b).join() === EVERY.join());
    for (const id of ids) expect((await b.worker.partitions.describe(id))?.status).toBe("invoked");
    await submit(b);
  }, 60_000);
});
