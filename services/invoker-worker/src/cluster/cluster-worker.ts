/**
 * The worker of a cluster: leads the partitions whose leases it holds, each with a processor and an invoker of its own, serves them over
 * gRPC, and delivers their outbox to leaders elsewhere.
 */
import { type Clock, type Logger, type Random, SummaryLog } from "@perdure/base";
import { type Partitions, type RegistryView, stateTtlOf } from "@perdure/control";
import type { RequestIdentity } from "@perdure/endpoint-transport";
import {
  directoryUpdateOf,
  LeaderDirectory,
  type LeadershipStatus,
  linksToWorkers,
  openChannel,
  type PeerCredentials,
  RemotePartitions,
  type ServedPartitions,
} from "@perdure/grpc";
import { createInvoker, type InvokerOptions, LargeMessages, Slots } from "@perdure/invoker";
import {
  type Archiving,
  type LeaderPartitions,
  LeadingWorker,
  newCounters,
  type ProcessorCounters,
} from "@perdure/partition-processor";
import { largeGarbage } from "@perdure/process-kit";
import type { AsyncPartitionStore, Leases, Membership } from "@perdure/storage";
import type { Deliveries } from "@perdure/subscriptions";
import type { TracingPorts } from "@perdure/telemetry/tracing";
import type { PartitionCounts, WorkerMetrics } from "../metrics.js";
import { type EndpointTransports, tracedTransports } from "../traced-transports.js";
import { registryWithWebhooks } from "../webhooks/webhook-registry.js";
import { transportWithWebhooks } from "../webhooks/webhook-transport.js";
import { OwnLeases } from "./own-leases.js";

interface ClusterWorkerPorts {
  /** Leadership claims under this worker's leases. The caller closes it, after the worker. */
  readonly store: AsyncPartitionStore;
  /** Undefined: completed invocations stay in the store. */
  readonly archiving: Archiving | undefined;
  /** Called before every leadership; a rejection prevents the leadership. */
  readonly mayLead: () => Promise<void>;
  readonly leases: Leases;
  readonly membership: Membership;
  readonly registry: RegistryView;
  readonly transports: EndpointTransports;
  /** Undefined while tracing is off. */
  readonly tracing: TracingPorts | undefined;
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics | undefined;
  /** Connections to other workers. */
  readonly tls: PeerCredentials | undefined;
}

interface ClusterWorkerOptions {
  /** Id of this process; a restarted process takes another. */
  readonly id: string;
  /** Address at which peers and gateways reach this worker, `host:port`. */
  readonly address: string;
  readonly partitionCount: number;
  readonly cleanupIntervalMs: number;
  /** This and the next: see `ProcessorOptions`. */
  readonly undoBytesMax?: number | undefined;
  readonly throttleKeysMax?: number | undefined;
  readonly invoker: InvokerOptions;
}

export interface ClusterWorker extends AsyncDisposable {
  readonly counters: Readonly<ProcessorCounters>;
  readonly slots: Slots;
  /** Handlers of the gRPC server. */
  readonly served: ServedPartitions;
  readonly leaderPartitions: LeaderPartitions;
  /** All partitions, wherever they are led. */
  readonly partitions: Partitions;
  readonly deliveries: Deliveries;
  /** Partitions that this worker leads and that are working. */
  leading(): readonly number[];
  /** The same partitions, with their leases. */
  leadershipStatuses(): readonly LeadershipStatus[];
  /** Partitions whose lease this worker holds, by their state here. */
  partitionCounts(): PartitionCounts;
  /** Partitions whose lease this worker holds, in any state. */
  heldCount(): number;
  /** Gives all partitions away for good; resolves when none is left. */
  drain(): Promise<void>;
  /** Begins to give all partitions away; `stay` reverts it, but not after `drain`. */
  standDown(): void;
  stay(): void;
  isDraining(): boolean;
  /** Bars the worker or admits it again. A barred worker leads nothing, whether or not it drains. */
  setBarred(isBarred: boolean): void;
}

/**
 * Resolves when the worker is on the list of workers and claims partitions. Rejects with STO0001 when the store is unreachable; then nothing
 * of it is left, so that the caller may try again.
 */
export async function createClusterWorker(ports: ClusterWorkerPorts, options: ClusterWorkerOptions): Promise<ClusterWorker> {
  const { clock, logger, random, registry, identity, metrics, tls } = ports;
  const { partitionCount } = options;
  const directory = new LeaderDirectory();
  const links = linksToWorkers(directory, (address) => openChannel(address, tls));
  const remote = new RemotePartitions({ directory, link: (address) => links.at(address), clock });
  const traced = tracedTransports(ports.transports, remote, ports.tracing);
  const transports = { ...traced, http: transportWithWebhooks(traced.http, { registry, clock }) };
  const invokerRegistry = registryWithWebhooks(registry);
  const slots = new Slots(options.invoker.concurrentInvocationsMax, clock, logger.child({ component: "invoker" }));
  const largeMessages = new LargeMessages(clock);
  const failureLog = new SummaryLog(logger.child({ component: "invoker" }), clock);
  const counters = newCounters();
  const ownLeases = new OwnLeases(options.id, clock);
  const { leaderPartitions, leadership, courier } = new LeadingWorker(
    {
      counters,
      metrics,
      largeGarbage: largeGarbage(),
      store: ports.store,
      leases: ports.leases,
      membership: ports.membership,
      archiving: ports.archiving,
      mayLead: ports.mayLead,
      invoker: (partition, host) =>
        createInvoker(
          {
            host,
            registry: invokerRegistry,
            transports,
            clock,
            random,
            logger: logger.child({ component: "invoker", partition }),
            identity,
            metrics,
            slots,
            largeMessages,
            failureLog,
          },
          options.invoker,
        ),
      rules: { rules: () => registry.current().rules, onChange: (listener) => registry.onChange(listener) },
      events: { subscriptions: () => registry.current().events, onChange: (listener) => registry.onChange(listener) },
      stateTtls: (service) => stateTtlOf(registry.current(), service),
      remote,
      publish(members, holders) {
        ownLeases.update(holders);
        directory.learn(directoryUpdateOf(partitionCount, members, holders));
      },
      clock,
      logger,
      soon: setImmediate,
    },
    options,
  );
  const close = async (): Promise<void> => {
    await leadership[Symbol.asyncDispose]();
    remote.close();
    links.close();
    failureLog[Symbol.dispose]();
  };
  try {
    await leadership.start();
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    served: {
      partitions: leaderPartitions,
      leads: (id) => leaderPartitions.leads(id),
      epochOf: (id) => leaderPartitions.epochOf(id),
      deliver: leaderPartitions.deliver.bind(leaderPartitions),
      directory,
      logger,
    },
    counters,
    slots,
    leaderPartitions,
    partitions: remote,
    deliveries: { partitionCount, deliver: courier.deliver.bind(courier) },
    leading: () => leadership.leading,
    leadershipStatuses: () => ownLeases.of(leadership.leading),
    partitionCounts: () => leadership.counts,
    heldCount: () => leadership.heldCount,
    drain: () => leadership.drain(),
    standDown: () => leadership.standDown(),
    stay: () => leadership.stay(),
    isDraining: () => leadership.isDraining,
    setBarred: (isBarred) => leadership.setBarred(isBarred),
    [Symbol.asyncDispose]: close,
  };
}
