/**
 * The worker of a cluster: leads the partitions whose leases it holds, each with a processor and an invoker of its own, answers for
 * them over gRPC, and brings what they owe to leaders elsewhere.
 */
import { type Clock, type Logger, partitionOf, type Random } from "@perdure/base";
import type { Courier, Partitions, RegistryView } from "@perdure/control";
import {
  type LeaderClaim,
  LeaderDirectory,
  Link,
  type MutualTls,
  openChannel,
  RemotePartitions,
  type ServedPartitions,
} from "@perdure/driver-grpc";
import {
  createInvoker,
  type EndpointTransport,
  type Invoker,
  type InvokerMetrics,
  type InvokerOptions,
  type RequestIdentity,
  Slots,
} from "@perdure/invoker";
import { OrderedPeers, Processor } from "@perdure/processor";
import type { AsyncPartitionStore, LeaseHolder, Leases, Member, Membership } from "@perdure/store";
import type { Deliveries } from "@perdure/subscription";
import { Leadership, type Led } from "./leadership.js";
import { LedPartitions } from "./led-partitions.js";

export interface ClusterWorkerPorts {
  /** Claims under this worker's leases. Stays the caller's to close, after the worker. */
  readonly store: AsyncPartitionStore;
  readonly leases: Leases;
  readonly membership: Membership;
  readonly registry: RegistryView;
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport | undefined };
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: InvokerMetrics | undefined;
  /** For reaching other workers. */
  readonly tls: MutualTls | undefined;
}

export interface ClusterWorkerOptions {
  /** Of this process: a restarted one takes another. */
  readonly id: string;
  /** Where peers and gateways reach this worker, `host:port`. */
  readonly address: string;
  readonly partitionCount: number;
  readonly cleanupIntervalMs: number;
  readonly invoker: InvokerOptions;
}

export interface ClusterWorker extends AsyncDisposable {
  /** What the gRPC server answers with. */
  readonly served: ServedPartitions;
  readonly led: LedPartitions;
  /** All partitions, wherever they are led. */
  readonly partitions: Partitions;
  readonly deliveries: Deliveries;
  /** Partitions that work here now. */
  leading(): readonly number[];
  /** Gives all partitions away; resolves when none is left. */
  drain(): Promise<void>;
}

/** Resolves when the worker is on the list and looks for partitions. Rejects with STO0001 when the store does not answer. */
export async function createClusterWorker(ports: ClusterWorkerPorts, options: ClusterWorkerOptions): Promise<ClusterWorker> {
  const { clock, logger, tls } = ports;
  const { partitionCount } = options;
  const led = new LedPartitions(partitionCount);
  const directory = new LeaderDirectory();
  const links = new Map<string, Link>();
  const link = (address: string): Link => {
    const known = links.get(address) ?? new Link(address, openChannel(address, tls));
    links.set(address, known);
    return known;
  };
  const remote = new RemotePartitions({ directory, link, clock });
  const courier: Courier = {
    deliver(delivery, delivered, undelivered) {
      const { command, producer, seq, after } = delivery;
      if (led.leads(command.id)) {
        if (!led.deliver(command, producer, seq, delivered, after, undelivered)) undelivered();
      } else remote.deliver(delivery, delivered, undelivered);
    },
  };
  const slots = new Slots(options.invoker.concurrentInvocationsMax);

  async function lead(partition: number, stopped: () => void): Promise<Led> {
    const peers = new OrderedPeers(courier, clock, ({ id }) => partitionOf(id, partitionCount));
    let invoker: Invoker | undefined;
    let processor: Processor | undefined;
    const end = (): void => {
      peers.close();
      if (processor !== undefined) led.remove(partition, processor);
      stopped();
    };
    processor = await Processor.start(
      {
        store: ports.store,
        clock,
        logger: logger.child({ component: "processor", partition }),
        soon: setImmediate,
        invoker(host) {
          const { registry, transports, random, identity, metrics } = ports;
          const child = logger.child({ component: "invoker", partition });
          invoker = createInvoker(
            { host, registry, transports, clock, random, logger: child, identity, metrics, slots },
            options.invoker,
          );
          return invoker;
        },
        rules: { rules: () => ports.registry.current().rules, onChange: (listener) => ports.registry.onChange(listener) },
        peers,
        onFenced: end,
        onFatal: end,
      },
      { partitions: [partition], partitionCount, cleanupIntervalMs: options.cleanupIntervalMs },
    );
    const working = processor;
    led.add(partition, { processor: working, invoker: invoker as unknown as Invoker });
    return {
      async yield() {
        await working[Symbol.asyncDispose]();
        led.remove(partition, working);
        peers.close();
      },
      abandon(reason) {
        led.remove(partition, working);
        peers.close();
        working.abandon(reason);
      },
    };
  }

  const leadership = new Leadership(
    {
      leases: ports.leases,
      membership: ports.membership,
      lead,
      seen: (members, holders) => directory.learn(newsOf(partitionCount, members, holders)),
      clock,
      logger: logger.child({ component: "leadership" }),
    },
    options,
  );
  await leadership.start();
  return {
    served: { partitions: led, leads: (id) => led.leads(id), deliver: led.deliver.bind(led), directory, logger },
    led,
    partitions: remote,
    deliveries: { partitionCount, deliver: courier.deliver },
    leading: () => leadership.leading,
    drain: () => leadership.drain(),
    async [Symbol.asyncDispose]() {
      await leadership[Symbol.asyncDispose]();
      remote.close();
      for (const each of links.values()) each.close();
    },
  };
}

function newsOf(partitionCount: number, members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) {
  const addresses = new Map(members.map(({ id, address }) => [id, address]));
  const leaders: LeaderClaim[] = [];
  for (const [partition, holder] of holders.entries()) {
    const address = holder === undefined ? undefined : addresses.get(holder.worker);
    if (holder !== undefined && address !== undefined) leaders.push({ partition, epoch: holder.epoch, address });
  }
  return { partitionCount, leaders, workers: members.map(({ address }) => address) };
}
