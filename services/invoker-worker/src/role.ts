/**
 * The role that leads partitions: a processor on a partition store and an invoker beside it, exposed to the other roles as `Partitions`.
 * Its dependencies are ports, so that one process and a cluster call the same function.
 */
import {
  type Clock,
  type DeploymentId,
  type InvocationId,
  invariant,
  invocationIdFromRaw,
  type Logger,
  PartitionSubset,
  PerdureError,
  type Random,
  SummaryLog,
} from "@perdure/base";
import { type Courier, type Partitions, type RegistryView, stateTtlOf } from "@perdure/control";
import type { RequestIdentity } from "@perdure/endpoint-transport";
import type { FlowLimits, FlowRows, FlowWait } from "@perdure/flow-control";
import type { ServedPartitions } from "@perdure/grpc";
import {
  type CutAttempt,
  createInvoker,
  type InterruptibleInvoker,
  type Interruption,
  type InvokerOptions,
  type InvokerStatus,
  LargeMessages,
  type RunningAttempt,
  Slots,
} from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import {
  type LeaderPartitions,
  LocalPartitions,
  LoopbackPeers,
  Processor,
  type ProcessorCounters,
  RoutedPartitions,
  SubsetPeers,
} from "@perdure/partition-processor";
import { largeGarbage } from "@perdure/process-kit";
import type { Invocation } from "@perdure/state-machine";
import { newPopulation, type PartitionStore, type Population } from "@perdure/storage";
import type { Deliveries } from "@perdure/subscriptions";
import type { TracingPorts } from "@perdure/telemetry/tracing";
import type { WorkerMetrics } from "./metrics.js";
import { type EndpointTransports, tracedTransports } from "./traced-transports.js";
import { countUnfinished } from "./usage.js";
import { registryWithWebhooks } from "./webhooks/webhook-registry.js";
import { transportWithWebhooks } from "./webhooks/webhook-transport.js";

interface InvokerWorkerPorts {
  /** The caller closes it, after the worker. */
  readonly store: PartitionStore;
  readonly registry: RegistryView;
  readonly transports: EndpointTransports;
  /** Undefined while tracing is off. */
  readonly tracing: TracingPorts | undefined;
  /** Signs requests to endpoints; undefined: they are not signed. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics | undefined;
  /** Called when durability can no longer be guaranteed: the store failed or another process took a partition over. */
  readonly onFatal: (error: PerdureError) => void;
  /** The leaders of the other partitions, in other threads of this process. The caller closes it, after the worker. */
  readonly remote?: (Partitions & Courier) | undefined;
}

interface InvokerWorkerOptions {
  /** Number of partitions of the environment. */
  readonly partitionCount: number;
  /** Partitions that this worker leads: all by default, and some only with the port `remote`. */
  readonly partitions?: readonly number[] | undefined;
  readonly cleanupIntervalMs: number;
  /** This and the next: see `ProcessorOptions`. */
  readonly undoBytesMax?: number | undefined;
  readonly throttleKeysMax?: number | undefined;
  readonly invoker: InvokerOptions;
  /** Serves reads and starts no work; work that becomes due is done when a worker starts without this option. */
  readonly isSuspended?: boolean;
}

/** `ServedPartitions` without the directory. */
type LocalLeaders = Omit<ServedPartitions, "directory" | "deliver"> & Pick<LeaderPartitions, "deliver">;

export interface InvokerWorker extends AsyncDisposable {
  /** All partitions, wherever they are led. */
  readonly partitions: Partitions;
  /** The partitions led here, for the handlers of `Partitions` that another thread calls. */
  readonly served: LocalLeaders;
  /** Partitions that are led here and work. */
  leaderPartitions(): readonly number[];
  readonly counters: Readonly<ProcessorCounters>;
  readonly slots: Slots;
  /** Returns the invoker's in-memory state of an invocation, for introspection. */
  status(id: InvocationId): InvokerStatus | undefined;
  statuses(): Iterable<InvokerStatus>;
  /** Virtual queues, limits and buckets of a partition; reads the store. */
  flowRows(partition: number): Promise<FlowRows>;
  /** Limits and buckets of a partition only; reads nothing. */
  flowLimits(partition: number): FlowLimits;
  /** The limit that delays an invocation that waits for a slot of its scope; undefined when it does not wait. */
  flowWait(id: InvocationId): FlowWait | undefined;
  /** Cuts running attempts off and starts none while a reason is set. No state is lost. */
  hold(reason: Interruption | undefined): void;
  /** Cuts off the running attempt of `id`, see `InterruptibleInvoker`. */
  cutAttempt(id: InvocationId): CutAttempt | undefined;
  /** The running attempts, see `InterruptibleInvoker`. */
  attempts(): Iterable<RunningAttempt>;
  /** State of the partitions that are led here. */
  population(): Population;
  /** Unfinished invocations in the partitions that are led here; reads the store. */
  countUsage(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage>;
  /** Destination of records of subscribed topics. */
  readonly deliveries: Deliveries;
  /** Signal of the leadership of a partition; undefined when the partition has stopped. */
  epochOf(partition: number): number | undefined;
}

const NO_FLOW: FlowRows = { queues: [], entries: [], limits: [], buckets: [] };

/** Leads the partitions once it resolves: running invocations continue. Rejects when the store fails. */
export async function createInvokerWorker(ports: InvokerWorkerPorts, options: InvokerWorkerOptions): Promise<InvokerWorker> {
  const { store, registry, identity, clock, random, logger, metrics, onFatal, remote } = ports;
  const { partitionCount } = options;
  const own = ownPartitionsOf(options, remote !== undefined);
  const subsetPeers = remote === undefined ? undefined : new SubsetPeers(own, remote, clock);
  const peers = subsetPeers ?? new LoopbackPeers();
  const slots = new Slots(options.invoker.concurrentInvocationsMax, clock, logger.child({ component: "invoker" }));
  const largeMessages = new LargeMessages(clock, options.invoker.largeMessagesBytesMax);
  const failureLog = new SummaryLog(logger.child({ component: "invoker" }), clock);
  const traced = tracedTransports(ports.transports, { describe: (id) => describe(id, started, own, remote) }, ports.tracing);
  const transports = { ...traced, http: transportWithWebhooks(traced.http, { registry, clock }) };
  const invokerRegistry = registryWithWebhooks(registry);
  const started = Processor.start(
    {
      store,
      metrics,
      clock,
      logger: logger.child({ component: "processor" }),
      soon: setImmediate,
      largeGarbage: largeGarbage(),
      invoker(host) {
        const invokerLogger = logger.child({ component: "invoker" });
        const deps = {
          host,
          registry: invokerRegistry,
          transports,
          clock,
          random,
          logger: invokerLogger,
          identity,
          metrics,
          slots,
          largeMessages,
          failureLog,
        };
        return createInvoker(deps, options.invoker);
      },
      rules: { rules: () => registry.current().rules, onChange: (listener) => registry.onChange(listener) },
      events: { subscriptions: () => registry.current().events, onChange: (listener) => registry.onChange(listener) },
      stateTtls: (service) => stateTtlOf(registry.current(), service),
      peers,
      onFenced: (partition) => onFatal(new PerdureError("STO0002", `partition ${partition} was taken over by another process`)),
      onFatal,
    },
    {
      partitions: own.partitions,
      partitionCount,
      cleanupIntervalMs: options.cleanupIntervalMs,
      undoBytesMax: options.undoBytesMax,
      throttleKeysMax: options.throttleKeysMax,
      isSuspended: options.isSuspended === true,
    },
  );
  started.catch(() => subsetPeers?.close());
  const processor = await started;
  peers.connect(processor);
  const { invoker } = processor;
  const served = servedBy(processor, logger);
  const epochOf = (partition: number) => processor.epochOf(firstIdOf(partition, partitionCount));
  return {
    partitions: remote === undefined ? served.partitions : new RoutedPartitions(own, served.partitions, remote),
    served,
    leaderPartitions: () => own.partitions.filter((partition) => epochOf(partition) !== undefined),
    counters: processor.counters,
    slots,
    status: (id) => invoker.status(id),
    statuses: () => invoker.statuses(),
    cutAttempt: (id) => invoker.cutAttempt(id),
    attempts: () => invoker.attempts(),
    population() {
      const all = newPopulation();
      processor.addPopulation(all);
      return all;
    },
    countUsage: (id, services) => countUnfinished(store, own.partitions, id, services),
    flowRows: async (partition) => (await processor.flowRows(partition)) ?? NO_FLOW,
    flowLimits: (partition) => processor.flowLimits(partition) ?? NO_FLOW,
    flowWait: (id) => processor.flowWait(id),
    hold(reason) {
      slots.hold(reason !== undefined);
      if (reason !== undefined) invoker.interrupt(reason);
    },
    deliveries: {
      partitionCount,
      deliver(delivery, delivered, undelivered) {
        const { command, producer, seq, after } = delivery;
        if (remote !== undefined && !own.hasId(command.id)) return remote.deliver(delivery, delivered, undelivered);
        if (!served.deliver(command, producer, seq, delivered, after, undelivered)) undelivered();
      },
    },
    epochOf,
    async [Symbol.asyncDispose]() {
      await processor[Symbol.asyncDispose]();
      subsetPeers?.close();
      failureLog[Symbol.dispose]();
    },
  };
}

/** Reads an invocation, or its caller, for a span. Attempts may begin while the processor starts; it is read once that has. */
async function describe(
  id: InvocationId,
  started: Promise<Processor<InterruptibleInvoker>>,
  own: PartitionSubset,
  remote: Pick<Partitions, "describe"> | undefined,
): Promise<Invocation | undefined> {
  return remote === undefined || own.hasId(id) ? new LocalPartitions(await started).describe(id) : remote.describe(id);
}

function ownPartitionsOf({ partitions, partitionCount }: InvokerWorkerOptions, hasRemote: boolean): PartitionSubset {
  const own = new PartitionSubset(partitions ?? Array(partitionCount).keys(), partitionCount);
  invariant(hasRemote || own.partitions.length === partitionCount, "a worker without other leaders leads every partition");
  return own;
}

/** The partitions that the processor leads. Messages are refused, so that they are offered again, when too many wait. */
function servedBy(processor: Processor<InterruptibleInvoker>, logger: Logger): LocalLeaders {
  return {
    partitions: new LocalPartitions(processor),
    leads: (id) => processor.leads(id),
    epochOf: (id) => processor.epochOf(id),
    // Full inboxes reject callers, which wait; records wait in their topics, and messages of other partitions with these.
    deliver: (command, producer, seq, delivered, after, undelivered) =>
      !processor.isOverloaded && processor.deliver(command, producer, seq, delivered, after, undelivered),
    logger,
  };
}

/** The lowest id in a partition: a processor's methods take ids, not partition numbers. */
function firstIdOf(partition: number, partitionCount: number): InvocationId {
  const count = BigInt(partitionCount);
  const raw = new Uint8Array(24);
  new DataView(raw.buffer).setBigUint64(0, ((BigInt(partition) << 64n) + count - 1n) / count);
  return invocationIdFromRaw(raw);
}
