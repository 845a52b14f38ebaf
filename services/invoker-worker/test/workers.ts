/** Several workers in one process, with all that their processes would have, on a given Redis. */
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@grpc/grpc-js";
import { type InvocationId, newInvocationId, PerdureError, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { partitionsDefinition, partitionsHandlers, SERVER_OPTIONS, serverCredentials } from "@perdure/grpc";
import { invokerDefaults } from "@perdure/invoker";
import {
  connectRedis,
  type ExpectedDataSet,
  type RedisConnectionOptions,
  RedisLeases,
  RedisMembership,
  RedisPartitionStore,
} from "@perdure/redis";
import { encodeInput } from "@perdure/service-protocol";
import type { InvocationFacts, Invoke } from "@perdure/state-machine";
import type { Leases, Membership } from "@perdure/storage";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { type ClusterWorker, createClusterWorker } from "../src/cluster/cluster-worker.js";
import { MEMBER_MS } from "../src/cluster/limits.js";

export const PARTITIONS = 8;
const EMPTY: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };
const nowhere: EndpointTransport = {
  open() {
    throw new Error("nothing is registered, so no endpoint is called");
  },
  async [Symbol.asyncDispose]() {},
};

/** A worker with all that its process would have. */
export interface Running extends AsyncDisposable {
  readonly worker: ClusterWorker;
  /** Makes every request to Redis about leases stay without a response. */
  cutOff(): void;
}

/** Workers of one environment. */
export class Workers implements AsyncDisposable {
  readonly #redis: RedisConnectionOptions;
  readonly #environment: string;
  readonly #dataSet: ExpectedDataSet | undefined;
  readonly #running = new Set<Running>();

  constructor(redis: RedisConnectionOptions, environment: string, dataSet?: ExpectedDataSet) {
    this.#redis = redis;
    this.#environment = environment;
    this.#dataSet = dataSet;
  }

  /** These lead all partitions when it resolves. */
  async startAll(...ids: string[]): Promise<Running[]> {
    const workers: Running[] = [];
    for (const id of ids) workers.push(await this.start(id));
    await until("every partition has a leader", () => all(...workers).length === PARTITIONS);
    return workers;
  }

  async start(id: string): Promise<Running> {
    const environment = this.#environment;
    const dataSet = this.#dataSet;
    const ports = { clock: systemClock, logger: silentLogger };
    const connections = await connectRedis(this.#redis, ports);
    let isCut = false;
    const leases = silenced<Leases>(new RedisLeases(connections, { environment, worker: id, dataSet }, systemClock), () => isCut);
    const membership = silenced<Membership>(new RedisMembership(connections, { environment, memberMs: MEMBER_MS }), () => isCut);
    const server = new Server(SERVER_OPTIONS);
    const served: { worker?: ClusterWorker } = {};
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", serverCredentials(undefined), (error, bound) => (error ? reject(error) : resolve(bound))),
    );
    const worker = await createClusterWorker(
      {
        ...ports,
        store: new RedisPartitionStore(connections, { environment, holder: id, dataSet }),
        archiving: undefined,
        mayLead: async () => undefined,
        leases,
        membership,
        registry: { current: () => EMPTY, onChange: () => () => undefined },
        transports: { http: nowhere, lambda: undefined },
        tracing: undefined,
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
      [Symbol.asyncDispose]: async () => {
        if (!this.#running.delete(one)) return;
        isCut = false;
        await worker[Symbol.asyncDispose]();
        server.forceShutdown();
        await connections[Symbol.asyncDispose]();
      },
    };
    this.#running.add(one);
    return one;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#running) await each[Symbol.asyncDispose]();
  }
}

/** The same port, unresponsive when set. */
function silenced<T extends object>(port: T, isCut: () => boolean): T {
  return new Proxy(port, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      const noAnswer = () => sleep(2_000).then(() => Promise.reject(new PerdureError("STO0001", "no answer")));
      return (...args: unknown[]) => (isCut() ? noAnswer() : method.apply(target, args));
    },
  });
}

export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<number> {
  const from = performance.now();
  while (!(await holds())) {
    if (performance.now() - from > withinMs * TIMEOUT_FACTOR) throw new Error(`not in time: ${what}`);
    await sleep(10);
  }
  return performance.now() - from;
}

export const counts = (...workers: Running[]): number[] => workers.map(({ worker }) => worker.leading().length).sort();
export const all = (...workers: Running[]): number[] => workers.flatMap(({ worker }) => worker.leading()).sort((a, b) => a - b);
export const EVERY = Array.from({ length: PARTITIONS }, (_, partition) => partition);

export function anInvoke(): Invoke {
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

/** Resolves when it is accepted, rejects when it is not. */
export const submit = (from: Running): Promise<InvocationId> => {
  const command = anInvoke();
  return new Promise((resolve, reject) => {
    from.worker.partitions.invoke(command, false, {
      submitted: () => resolve(command.id),
      completed: () => undefined,
      unavailable: (reason) => reject(new Error(reason)),
    });
  });
};
