/** Workers in this process: real processors on one memory store, with real gRPC or message ports between them and their clients. */

import type { UntypedServiceImplementation } from "@grpc/grpc-js";
import { type InvocationId, newInvocationId, silentLogger, systemClock } from "@perdure/base";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import { LocalPartitions, LoopbackPeers, NO_RULES, Processor } from "@perdure/partition-processor";
import type { Invoke, StartRun } from "@perdure/state-machine";
import { anId, endOf, invokeOf, outputOf, someFacts } from "@perdure/state-machine/testing";
import { KvPartitionStore, type MemoryKeyValue } from "@perdure/storage";
import { SeededRandom } from "@perdure/testkit";
import type { ExchangeRequest } from "../codec/exchange.js";
import { LeaderDirectory, type LiveWorker, type MutualTls, partitionsDefinition, partitionsHandlers } from "../index.js";
import { type Carrier, TestServer } from "./test-server.js";

export const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];

/** Answers every invocation with its own input, at once or when it is let go. */
class EchoInvoker implements Invoker {
  readonly #host: InvokerHost;
  readonly #held: StartRun[] = [];
  isHolding: boolean;

  constructor(host: InvokerHost, isHolding: boolean) {
    this.#host = host;
    this.isHolding = isHolding;
  }
  startRun(effect: StartRun): void {
    if (this.isHolding) this.#held.push(effect);
    else this.#end(effect);
  }
  letGo(): void {
    this.isHolding = false;
    for (const effect of this.#held.splice(0)) this.#end(effect);
  }
  #end({ invocation }: StartRun): void {
    const { id } = invocation.facts;
    this.#host.submit(outputOf(id, invocation.run, `done ${id}`));
    this.#host.submit(endOf(id, invocation.run));
  }
  entryStored(): void {}
  stopRun(): void {}
  requestPause(): void {}
  retryNow(): void {}
  async finishAttempts(): Promise<void> {}
  status(): undefined {
    return undefined;
  }
  statuses(): [] {
    return [];
  }
  async [Symbol.asyncDispose](): Promise<void> {}
}

const { exchange } = partitionsDefinition;

/** The service as a worker of v0.1 has it: requests of later releases have no body that it can read. */
const DEFINITION_V01 = {
  ...partitionsDefinition,
  exchange: {
    ...exchange,
    requestDeserialize: (bytes: Buffer): readonly ExchangeRequest[] =>
      exchange
        .requestDeserialize(bytes)
        .map(({ number, body }) => ({ number, body: body?.case === "hello" || body?.case === "command" ? undefined : body })),
  },
};

/** A worker with nothing to show of itself. */
export const NOTHING_LIVE: LiveWorker = {
  leaderPartitions: () => ALL,
  worker: () => ({ id: "w", version: "1", startedAtMs: 1, isDraining: false, leading: [] }),
  status: () => undefined,
  statuses: () => [],
  flowRows: () => Promise.resolve({ queues: [], entries: [], limits: [], buckets: [] }),
  flowLimits: () => ({ limits: [], buckets: [] }),
  flowWait: () => undefined,
  subscriptionStatuses: () => [],
  traffic: () => ({ node: "w", sinceMs: undefined, counts: [] }),
  countUsage: () => Promise.resolve({ pinned: 0, unfinishedByService: new Map() }),
};

export class TestWorker implements AsyncDisposable {
  readonly address: string;
  readonly directory: LeaderDirectory;
  readonly invoker: EchoInvoker;
  readonly processor: Processor;
  /** Serve it over a further port. */
  readonly handlers: UntypedServiceImplementation;
  readonly #server: TestServer;

  private constructor(
    server: TestServer,
    directory: LeaderDirectory,
    invoker: EchoInvoker,
    processor: Processor,
    handlers: UntypedServiceImplementation,
  ) {
    this.address = server.address;
    this.directory = directory;
    this.invoker = invoker;
    this.processor = processor;
    this.handlers = handlers;
    this.#server = server;
  }

  /** Takes all partitions of the store over, under `epoch`. */
  static async start(
    kv: MemoryKeyValue,
    options: {
      epoch: number;
      isHolding?: boolean;
      tls?: MutualTls;
      live?: LiveWorker;
      isV01?: boolean;
      throttleKeysMax?: number;
      carrier?: Carrier;
    },
  ): Promise<TestWorker> {
    const peers = new LoopbackPeers();
    let invoker: EchoInvoker | undefined;
    const processor = await Processor.start(
      {
        store: new KvPartitionStore(kv),
        clock: systemClock,
        logger: silentLogger,
        soon: (task) => setImmediate(task),
        invoker: (host) => {
          invoker = new EchoInvoker(host, options.isHolding ?? false);
          return invoker;
        },
        rules: NO_RULES,
        peers,
        onFenced: () => undefined,
        onFatal: () => undefined,
      },
      { partitions: ALL, partitionCount: PARTITIONS, cleanupIntervalMs: 60_000, throttleKeysMax: options.throttleKeysMax },
    );
    peers.connect(processor);
    const directory = new LeaderDirectory();
    const served = {
      partitions: new LocalPartitions(processor),
      leads: (id: InvocationId) => processor.leads(id),
      epochOf: () => options.epoch,
      deliver: processor.deliver.bind(processor),
      directory,
      live: options.live ?? NOTHING_LIVE,
      logger: silentLogger,
    };
    const definition = options.isV01 === true ? DEFINITION_V01 : partitionsDefinition;
    const handlers = partitionsHandlers(served);
    const server = await TestServer.start(definition, handlers, options);
    const worker = new TestWorker(server, directory, invoker as EchoInvoker, processor, handlers);
    directory.learn(worker.claims(options.epoch));
    return worker;
  }

  claims(epoch: number) {
    const leaders = ALL.map((partition) => ({ partition, epoch, address: this.address }));
    return { partitionCount: PARTITIONS, leaders, workers: [this.address] };
  }

  /** Ends without a message, as after kill -9. */
  kill(): void {
    this.#server.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.stop();
    await this.processor[Symbol.asyncDispose]();
  }
}

const random = new SeededRandom(7);

export function anInvoke(over: Parameters<typeof someFacts>[0] = {}): Invoke {
  const target = someFacts({ id: anId(1) }).target;
  return invokeOf(someFacts({ id: newInvocationId(target, Date.now(), random), requestId: random.uint32() + 1, ...over }));
}
