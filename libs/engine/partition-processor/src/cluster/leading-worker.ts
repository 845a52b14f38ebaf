/**
 * Leads each partition whose lease the worker holds with one processor, and delivers its outbox to the leaders of other partitions. Its
 * dependencies are ports: Redis and gRPC in a worker process, simulated ones in simulation.
 */
import type { Clock, Logger } from "@perdure/base";
import type { Courier } from "@perdure/control";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import type { AsyncPartitionStore, LeaseHolder, Leases, Member, Membership } from "@perdure/storage";
import type { EventSubscriptionSource } from "../event-subscriptions.js";
import type { RuleSource } from "../flow/flow-control.js";
import { newCounters } from "../partition-group.js";
import type { ProcessorCounters, ProcessorMetrics } from "../ports.js";
import type { StateTtlSource } from "../view/live-state-ttls.js";
import type { Archiving } from "./archiving.js";
import { LeaderCourier } from "./leader-courier.js";
import { LeaderPartitions } from "./leader-partitions.js";
import {
  type HandoverCause,
  type LeaderHandle,
  PartitionLeadership,
  type PartitionLeadershipOptions,
  type PartitionStarter,
} from "./leadership.js";
import { PartitionTerm } from "./partition-term.js";

export interface LeadingWorkerPorts {
  /** Shared by all processors. */
  readonly counters?: ProcessorCounters;
  readonly metrics?: LeadingWorkerMetrics | undefined;
  /** Port of each processor; see `ProcessorPorts.largeGarbage`. */
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
  readonly events?: EventSubscriptionSource | undefined;
  readonly stateTtls?: StateTtlSource | undefined;
  /** Delivers to leaders elsewhere. */
  readonly remote: Courier;
  /** Publishes the members and leaders of the last poll. */
  readonly publish: (members: readonly Member[], holders: readonly (LeaseHolder | undefined)[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Port of each processor; see `ProcessorPorts.soon`. */
  readonly soon: (task: () => void) => void;
}

export interface LeadingWorkerMetrics extends ProcessorMetrics {
  /** A partition works here, `durationMs` after its lease was acquired. */
  partitionAcquired(durationMs: number, cause: HandoverCause): void;
}

export interface LeadingWorkerOptions extends PartitionLeadershipOptions {
  readonly cleanupIntervalMs: number;
  /** This and the next: see `ProcessorOptions`. */
  readonly undoBytesMax?: number | undefined;
  readonly throttleKeysMax?: number | undefined;
}

/** Leads nothing until its leadership is started, and its share from then until that is closed. */
export class LeadingWorker implements PartitionStarter {
  readonly leaderPartitions: LeaderPartitions;
  readonly leadership: PartitionLeadership;
  /** Delivers messages to the leader of their partition, on this worker or another. */
  readonly courier: Courier;
  readonly counters: ProcessorCounters;
  readonly ports: LeadingWorkerPorts;
  readonly options: LeadingWorkerOptions;

  constructor(ports: LeadingWorkerPorts, options: LeadingWorkerOptions) {
    this.ports = ports;
    this.options = options;
    this.counters = ports.counters ?? newCounters();
    this.leaderPartitions = new LeaderPartitions(options.partitionCount);
    this.courier = new LeaderCourier(this.leaderPartitions, ports.remote);
    const { leases, membership, publish, clock } = ports;
    const logger = ports.logger.child({ component: "leadership" });
    this.leadership = new PartitionLeadership({ leases, membership, publish, clock, logger }, this, options);
  }

  async lead(partition: number, stopped: () => void, signal: AbortSignal, cause: HandoverCause): Promise<LeaderHandle> {
    const { clock, mayLead, metrics } = this.ports;
    const sinceMs = clock.monotonicMs();
    await mayLead?.();
    const term = new PartitionTerm(this, partition, stopped);
    await term.begin(signal, cause);
    metrics?.partitionAcquired(clock.monotonicMs() - sinceMs, cause);
    return term;
  }
}
