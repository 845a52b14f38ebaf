/**
 * Leads each partition whose lease the worker holds with one processor, and delivers its outbox to the leaders of other partitions. Its
 * dependencies are ports: Redis and gRPC in a worker process, simulated ones in simulation.
 */
import { type Clock, type Logger, partitionOf } from "@perdure/base";
import type { Courier } from "@perdure/control";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import type { AsyncPartitionStore, LeaseHolder, Leases, Member, Membership } from "@perdure/storage";
import type { Archiver } from "../archive/archiver.js";
import type { RuleSource } from "../flow/flow-control.js";
import { OrderedPeers } from "../outbox/ordered-peers.js";
import { newCounters } from "../partition-group.js";
import type { ProcessorCounters, ProcessorMetrics } from "../ports.js";
import { Processor } from "../processor.js";
import type { Archiving } from "./archiving.js";
import { LeaderPartitions } from "./leader-partitions.js";
import { type HandoverCause, type LeaderHandle, PartitionLeadership, type PartitionLeadershipOptions } from "./leadership.js";
import { YIELD_ATTEMPTS_MS } from "./limits.js";

export interface LeadingWorkerPorts {
  /** Shared by all processors. */
  readonly counters?: ProcessorCounters;
  readonly metrics?: LeadingWorkerMetrics | undefined;
  /** As `ProcessorPorts.largeGarbage`. */
  readonly largeGarbage?: ((bytes: number) => void) | undefined;
  /** Claims partitions under this worker's leases. */
  readonly store: AsyncPartitionStore;
  readonly leases: Leases;
  readonly membership: Membership;
  /** Undefined: completed invocations stay in the store. */
  readonly archiving?: Archiving | undefined;
  /** Called before each start of leadership; a rejection prevents it. */
  readonly mayLead?: () => Promise<void>;
  /** The invoker of one partition. */
  readonly invoker: (partition: number, host: InvokerHost) => Invoker;
  readonly rules: RuleSource;
  /** Delivers to leaders elsewhere. */
  readonly remote: Courier;
  /** Publishes the members and leaders of the last poll. */
  readonly publish: (members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** As `ProcessorPorts.soon`. */
  readonly soon: (task: () => void) => void;
}

export interface LeadingWorkerMetrics extends ProcessorMetrics {
  /** A partition works here, `durationMs` after its lease was acquired. */
  partitionAcquired(durationMs: number, cause: HandoverCause): void;
}

export interface LeadingWorkerOptions extends PartitionLeadershipOptions {
  readonly cleanupIntervalMs: number;
}

export interface LeadingWorker {
  readonly leaderPartitions: LeaderPartitions;
  readonly leadership: PartitionLeadership;
  /** Delivers messages to the leader of their partition, on this worker or another. */
  readonly courier: Courier;
}

/** Creates a worker that leads nothing until its leadership is started, and its share from then until that is closed. */
export function createLeadingWorker(ports: LeadingWorkerPorts, options: LeadingWorkerOptions): LeadingWorker {
  const { clock, logger } = ports;
  const { partitionCount, cleanupIntervalMs } = options;
  const leaderPartitions = new LeaderPartitions(partitionCount);
  const counters = ports.counters ?? newCounters();
  const courier: Courier = {
    deliver(delivery, delivered, undelivered) {
      const { command, producer, seq, after } = delivery;
      if (leaderPartitions.leads(command.id)) {
        if (!leaderPartitions.deliver(command, producer, seq, delivered, after, undelivered)) undelivered();
      } else ports.remote.deliver(delivery, delivered, undelivered);
    },
  };

  async function lead(partition: number, stopped: () => void, signal: AbortSignal, cause: HandoverCause): Promise<LeaderHandle> {
    const sinceMs = clock.monotonicMs();
    await ports.mayLead?.();
    const peers = new OrderedPeers(courier, clock, ({ id }) => partitionOf(id, partitionCount));
    let invoker: Invoker | undefined;
    let processor: Processor | undefined;
    let archiver: Archiver | undefined;
    const end = (): void => {
      archiver?.stop();
      peers.close();
      if (processor !== undefined) leaderPartitions.remove(partition, processor);
      stopped();
    };
    processor = await Processor.start(
      {
        store: ports.store,
        counters,
        metrics: ports.metrics,
        largeGarbage: ports.largeGarbage,
        clock,
        logger: logger.child({ component: "processor", partition }),
        soon: ports.soon,
        invoker(host) {
          invoker = ports.invoker(partition, host);
          return invoker;
        },
        rules: ports.rules,
        ...(ports.archiving === undefined ? {} : { archive: ports.archiving.archive }),
        peers,
        onFenced: end,
        onFatal: end,
      },
      { partitions: [partition], partitionCount, cleanupIntervalMs, isHandedOver: cause === "drain" || cause === "rebalance" },
      signal,
    ).catch((cause: unknown) => {
      peers.close();
      throw cause;
    });
    const working = processor;
    archiver = ports.archiving?.begin(working);
    leaderPartitions.add(partition, { processor: working, invoker: invoker as unknown as Invoker });
    ports.metrics?.partitionAcquired(clock.monotonicMs() - sinceMs, cause);
    return {
      async yield() {
        await archiver?.[Symbol.asyncDispose]();
        await working.yield(YIELD_ATTEMPTS_MS);
        leaderPartitions.remove(partition, working);
        peers.close();
      },
      abandon(reason) {
        archiver?.stop();
        leaderPartitions.remove(partition, working);
        peers.close();
        working.abandon(reason);
      },
    };
  }

  const { leases, membership, publish } = ports;
  const leadership = new PartitionLeadership(
    { leases, membership, lead, publish, clock, logger: logger.child({ component: "leadership" }) },
    options,
  );
  return { leaderPartitions, leadership, courier };
}
