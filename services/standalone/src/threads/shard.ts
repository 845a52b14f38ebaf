/**
 * A further thread of a server: leads its partitions and serves callers beside the main thread, which has everything that there is one of.
 *
 *     store ▸ transports ▸ ports to the other threads ▸ copy of the registry ▸ worker (leads) ▸ connected ▸ ingress
 */
import { type InvocationId, PerdureError, partitionsOfThread } from "@perdure/base";
import { openRemoteRegistry, type RemoteRegistry } from "@perdure/grpc";
import type { Ingress } from "@perdure/ingress-gateway";
import type { CutAttempt } from "@perdure/invoker";
import { type InvokerWorker, liveWorkerOf } from "@perdure/invoker-worker";
import { type OpenThread, openThread, type ProcessPorts } from "@perdure/process-kit";
import { openListener } from "@perdure/process-kit/http";
import type { CompletedChanges } from "@perdure/storage";
import type { MetricSnapshot } from "@perdure/telemetry";
import { invocationTracing } from "@perdure/telemetry/tracing";
import { buildIngress } from "../callers.js";
import { readAccess } from "../checked-settings.js";
import { loadSettings, type StandaloneSettings, type settings } from "../config.js";
import { openEndpoints } from "../endpoint-access.js";
import { startWorker } from "../leading.js";
import { limitedPartitions, type StorageFull } from "../limited-partitions.js";
import type { ThreadFoundation } from "../parts.js";
import { ThreadCalls } from "./calls.js";
import type { MainMethods, ShardData, ShardMethods, StorageState, ThreadLeadership } from "./methods.js";
import { ThreadPeers } from "./peers.js";
import { openShardStore } from "./shard-store.js";
import { addressOf } from "./thread-ports.js";

/** Resolves when the main thread has closed this one. */
export async function runShard(data: ShardData): Promise<void> {
  using thread = await openThread({ service: "standalone", load: loadSettings }, data.setup, data.thread);
  await new Shard(data, thread).run();
}

class Shard implements ShardMethods {
  readonly #data: ShardData;
  readonly #thread: OpenThread<typeof settings>;
  readonly #calls: ThreadCalls<MainMethods>;
  readonly #peers: ThreadPeers;
  readonly #storage: StorageFull & { isFull: boolean };
  readonly #started: Promise<StartedShard>;
  #listening: Promise<unknown> | undefined;

  constructor(data: ShardData, thread: OpenThread<typeof settings>) {
    this.#data = data;
    this.#thread = thread;
    const { lifecycle } = thread.ports;
    this.#storage = { isFull: false, bytesMax: thread.settings.limits.storedBytes ?? 0 };
    this.#calls = new ThreadCalls(data.calls, methodsOf(this));
    this.#peers = new ThreadPeers(data, thread.ports);
    lifecycle.stopping.addEventListener("abort", () => {
      // At once, so that the process stops while this thread closes its own parts.
      const { failure } = lifecycle;
      if (failure !== undefined) this.#calls.notify("fail", failure.code, failure.detail);
    });
    this.#started = this.#start();
  }

  /** Resolves when it was closed. */
  async run(): Promise<void> {
    const { lifecycle } = this.#thread.ports;
    try {
      await this.#started;
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      if (!lifecycle.stopping.aborted) this.#calls.notify("fail", code, detail); // Else it was stopped while it started.
    }
    await lifecycle.untilEnded();
    this.#peers[Symbol.dispose]();
  }

  async lead(): Promise<readonly ThreadLeadership[]> {
    const { worker } = await this.#started;
    const { thread } = this.#data;
    return worker.leaderPartitions().map((partition) => ({ partition, epoch: worker.epochOf(partition) ?? 0, thread }));
  }

  connect(leaders: readonly ThreadLeadership[]): void {
    this.#peers.learn(this.#data.partitionCount, this.#data.threads, leaders);
  }

  async listen(port: number): Promise<void> {
    const { ingress } = await this.#started;
    const address = { ...this.#thread.settings.ingress, bindPort: port };
    this.#listening = this.#thread.ports.lifecycle.start("ingress", () =>
      openListener(
        address,
        (at) => ingress.listen({ ...at, reusePort: true }),
        () => ingress.close(),
      ),
    );
    await this.#listening;
  }

  async drain(): Promise<void> {
    const { ingress } = await this.#started;
    if (this.#listening !== undefined) await ingress.close();
  }

  async close(): Promise<void> {
    const { lifecycle } = this.#thread.ports;
    lifecycle.stop("its process stops");
    await lifecycle.untilEnded();
  }

  metrics(): readonly MetricSnapshot[] {
    return this.#thread.ports.metrics.snapshot();
  }

  async setStorage({ isFull, heldBecause }: StorageState): Promise<void> {
    this.#storage.isFull = isFull;
    (await this.#started).worker.hold(heldBecause);
  }

  async cutAttempt(id: InvocationId): Promise<CutAttempt | undefined> {
    return (await this.#started).worker.cutAttempt(id);
  }

  setLogFilter(filter: string): void {
    this.#thread.setLogFilter(filter);
    this.#thread.ports.logger.info({ filter }, "log levels changed to those of the config file");
  }

  async completedPosition(): Promise<number | undefined> {
    return (await this.#started).completedChanges.position();
  }

  async completedSince(position: number): Promise<readonly string[] | undefined> {
    return (await this.#started).completedChanges.since(position);
  }

  async #start(): Promise<StartedShard> {
    const { settings, ports } = this.#thread;
    const foundation = await openFoundation(settings, this.#data, this.#peers, ports);
    const registry = await openRegistryCopy(this.#peers, this.#calls, ports);
    const worker = await startWorker(foundation, registry, ports);
    const sinceMs = ports.clock.nowMs();
    const live = { worker, id: settings.nodeName, sinceMs, subscriptionStatuses: () => [], clock: ports.clock };
    this.#peers.servePartitions(worker, liveWorkerOf(live));
    const storage = settings.limits.storedBytes === undefined ? undefined : this.#storage;
    const partitions = limitedPartitions(worker.partitions, storage);
    const readRegistries = () => registry.snapshots();
    const ingress = buildIngress({ ...foundation, registry, readRegistries, partitions, storage }, ports);
    return { completedChanges: foundation.completedChanges, worker, ingress };
  }
}

interface ShardFoundation extends ThreadFoundation {
  readonly completedChanges: CompletedChanges;
}

interface StartedShard {
  readonly completedChanges: CompletedChanges;
  readonly worker: InvokerWorker;
  readonly ingress: Ingress;
}

/** The main thread calls nothing but these. */
function methodsOf(shard: ShardMethods): { readonly [Name in keyof ShardMethods]: ShardMethods[Name] } {
  return {
    lead: () => shard.lead(),
    connect: (leaders) => shard.connect(leaders),
    listen: (port) => shard.listen(port),
    drain: () => shard.drain(),
    close: () => shard.close(),
    metrics: () => shard.metrics(),
    setStorage: (state) => shard.setStorage(state),
    cutAttempt: (id) => shard.cutAttempt(id),
    setLogFilter: (filter) => shard.setLogFilter(filter),
    completedPosition: () => shard.completedPosition(),
    completedSince: (position) => shard.completedSince(position),
  };
}

async function openFoundation(
  settings: StandaloneSettings,
  data: ShardData,
  { remote }: ThreadPeers,
  ports: ProcessPorts,
): Promise<ShardFoundation> {
  const { thread, threads, partitionCount } = data;
  const own = partitionsOfThread(thread, threads, partitionCount);
  const checked = await readAccess(settings, ports);
  const { store, completedChanges } = await ports.lifecycle.prepare(() => openShardStore(data));
  await ports.lifecycle.start("partition store", () => store);
  const endpoints = await openEndpoints(settings, checked.tunnels, ports);
  const tracing = invocationTracing(ports);
  const stored = { store, completedChanges, partitionCount };
  return { settings, ...checked, ...endpoints, ...stored, tracing, place: { thread, threads, own }, remote };
}

/** Resolves with the first state. With its records, because event subscriptions are among them. */
async function openRegistryCopy(
  peers: ThreadPeers,
  calls: ThreadCalls<MainMethods>,
  { lifecycle, clock, random, logger }: ProcessPorts,
): Promise<RemoteRegistry> {
  const channels = [peers.channelTo(addressOf(0))];
  const registry = openRemoteRegistry({ channels, clock, random, logger }, { withRecords: true });
  await lifecycle.start("copy of the registry", () => ({ [Symbol.asyncDispose]: async () => registry.close() }));
  registry.onChange(() => queueMicrotask(() => calls.notify("registryReached", registry.stateNumber)));
  await lifecycle.awaitPart("state of the registry", () => registry.ready);
  return registry;
}
