/**
 * The further threads of a server, as its main thread sees them. A thread that ends or fails ends the process: what it had in memory is
 * lost as in a crash, and the next start continues from what is stored.
 */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { type Clock, type InvocationId, PerdureError, partitionOf } from "@perdure/base";
import { RemoteRows, registryDefinition, registryHandlers } from "@perdure/grpc";
import type { CutAttempt } from "@perdure/invoker";
import { type InvokerWorker, liveWorkerOf } from "@perdure/invoker-worker";
import type { ProcessPart, ProcessPorts, ThreadSetup } from "@perdure/process-kit";
import type { RegistryRole } from "@perdure/registry";
import type { ActionTotals, AsyncCompletedChanges } from "@perdure/storage";
import { type MetricSnapshot, mergedMetrics } from "@perdure/telemetry";
import { ThreadCalls } from "./calls.js";
import { METRICS_WAIT_MS, REGISTRY_WAIT_MS } from "./limits.js";
import type { MainMethods, ShardData, ShardMethods, StorageState, ThreadLeadership } from "./methods.js";
import { ThreadPeers } from "./peers.js";
import { RegistryStates } from "./registry-states.js";
import { portsBetween, type ThreadPorts, transfersOf } from "./thread-ports.js";

/** Bundled beside this module's bundle. */
const SHARD_THREAD = new URL("./shard-thread.mjs", import.meta.url);

interface ShardThreadsOptions {
  /** Threads of the process, the main thread included. */
  readonly threads: number;
  readonly partitionCount: number;
  /** Directory of the partitions. */
  readonly directory: string;
  readonly actions: ActionTotals;
  readonly setup: ThreadSetup;
  /** Name of the node, in rows about it. */
  readonly node: string;
  /** Module of a thread; by default the one that is bundled beside this one. */
  readonly entry?: URL;
}

interface ShardHandle {
  readonly thread: number;
  readonly worker: Worker;
  readonly calls: ThreadCalls<ShardMethods>;
  /** Metrics of the last scrape. */
  metrics: readonly MetricSnapshot[];
}

export class ShardThreads implements ProcessPart {
  /** The partitions of all threads, as the main thread reaches them. */
  readonly peers: ThreadPeers;
  readonly rows: RemoteRows;
  readonly #options: ShardThreadsOptions;
  readonly #ports: ProcessPorts;
  readonly #shards: readonly ShardHandle[];
  readonly #registryStates: RegistryStates;
  #isClosing = false;

  /** Starts the threads; they lead their partitions once the registry is served to them. */
  constructor(registry: RegistryRole, options: ShardThreadsOptions, ports: ProcessPorts) {
    const { clock, random, logger } = ports;
    this.#options = options;
    this.#ports = ports;
    const [own, ...others] = portsBetween(options.threads);
    this.peers = new ThreadPeers(own!, ports);
    this.rows = new RemoteRows({
      directory: this.peers.directory,
      channel: (address) => this.peers.channelTo(address),
      clock,
      random,
      logger,
    });
    this.#registryStates = new RegistryStates(registry, others.length);
    this.peers.serve(registryDefinition, registryHandlers(registry, logger));
    this.#shards = others.map((threadPorts, index) => this.#open(index + 1, threadPorts));
  }

  /** Numbers of the further threads. */
  get numbers(): readonly number[] {
    return this.#shards.map(({ thread }) => thread);
  }

  /** Resolves when the thread leads its partitions; rejects with the error that prevents it. */
  leads(thread: number): Promise<readonly ThreadLeadership[]> {
    return this.#shards[thread - 1]!.calls.call("lead");
  }

  /** Called when all threads lead: `leaders` are those of the further ones. */
  connect(worker: InvokerWorker, leaders: readonly ThreadLeadership[]): void {
    const { threads, partitionCount, node } = this.#options;
    const { clock } = this.#ports;
    const live = liveWorkerOf({ worker, id: node, sinceMs: clock.nowMs(), subscriptionStatuses: () => [], clock });
    this.peers.servePartitions(worker, live);
    const own = worker.leaderPartitions().map((partition) => ({ partition, epoch: worker.epochOf(partition) ?? 0, thread: 0 }));
    const all = [...own, ...leaders];
    this.peers.learn(partitionCount, threads, all);
    for (const { calls } of this.#shards) calls.notify("connect", all);
  }

  /** Opens the ingress of each thread at the port that the main thread has bound. */
  async listen(port: number): Promise<void> {
    await Promise.all(this.#shards.map(({ calls }) => calls.call("listen", port)));
  }

  /** Closes the ingress of each thread; resolves when their requests have ended. */
  async drainIngress(): Promise<void> {
    await Promise.all(this.#shards.map(({ calls }) => calls.call("drain")));
  }

  /** Those of all threads, one metric for each name. */
  async metrics(): Promise<readonly MetricSnapshot[]> {
    const { clock, metrics } = this.#ports;
    await withinMs(METRICS_WAIT_MS, clock, Promise.all(this.#shards.map(readMetrics)));
    return mergedMetrics([metrics.snapshot(), ...this.#shards.map((shard) => shard.metrics)]);
  }

  setStorage(state: StorageState): void {
    for (const { calls } of this.#shards) calls.notify("setStorage", state);
  }

  /** Cuts off a running attempt of a further thread. */
  async cutAttempt(id: InvocationId): Promise<CutAttempt | undefined> {
    const { threads, partitionCount } = this.#options;
    const shard = this.#shards[(partitionOf(id, partitionCount) % threads) - 1];
    return shard?.calls.call("cutAttempt", id);
  }

  setLogFilter(filter: string): void {
    for (const { calls } of this.#shards) calls.notify("setLogFilter", filter);
  }

  /** The records of the further threads. */
  completedChanges(): readonly AsyncCompletedChanges[] {
    return this.#shards.map(({ calls }) => ({
      position: () => calls.call("completedPosition"),
      since: (position) => calls.call("completedSince", position),
    }));
  }

  /** Resolves with the result of a change of the registry when every thread has the state that shows it. */
  async shown<T>(change: Promise<T>): Promise<T> {
    const result = await change;
    await withinMs(REGISTRY_WAIT_MS, this.#ports.clock, this.#registryStates.reached());
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#shards.map(closeShard));
    this.peers[Symbol.dispose]();
  }

  #open(thread: number, ports: ThreadPorts): ShardHandle {
    const { setup, threads, partitionCount, directory, actions, entry = SHARD_THREAD } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const place = { thread, threads, partitionCount, directory };
    const data: ShardData = { ...ports, ...place, setup, actions: actions.buffer, calls: port2 };
    const transferList: MessagePort[] = [port2, ...transfersOf(ports)];
    const worker = new Worker(entry, { workerData: data, transferList, name: `shard ${thread}` });
    const { lifecycle } = this.#ports;
    worker.on("error", (cause) => lifecycle.fail(cause));
    worker.on("exit", () => {
      if (!this.#isClosing) lifecycle.fail(new PerdureError("OPS0003", `thread ${thread} of this process has ended`));
    });
    const methods: MainMethods = {
      fail: (code, detail) => lifecycle.fail(new PerdureError(code, `thread ${thread}: ${detail}`)),
      registryReached: (state) => this.#registryStates.report(thread, state),
    };
    return { thread, worker, calls: new ThreadCalls(port1, { ...methods }), metrics: [] };
  }
}

async function readMetrics(shard: ShardHandle): Promise<void> {
  shard.metrics = await shard.calls.call("metrics");
}

/** A thread that has failed cannot close in order, and nothing of it is waited for. */
async function closeShard({ calls, worker }: ShardHandle): Promise<void> {
  await calls.call("close").catch(() => undefined);
  calls[Symbol.dispose]();
  await worker.terminate();
}

/** Resolves when `work` has, and after this time at the latest. */
async function withinMs(timeMs: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const overdue = Promise.withResolvers<void>();
  const timer = clock.setTimer(timeMs, overdue.resolve);
  try {
    await Promise.race([work, overdue.promise]);
  } finally {
    timer.cancel();
  }
}
