/**
 * Why: checkers that never find anything prove nothing. A plant is a bug put between two real parts, outside of the code itself;
 * the tests show that simulation finds each of them within a bounded number of seeds.
 */

import type { Clock } from "@perdure/base";
import type { ServedPartitions } from "@perdure/driver-grpc";
import type { FlowScheduler, RuleBook } from "@perdure/flow";
import type { Invoker, InvokerHost, Slots } from "@perdure/invoker";
import type { PartitionCommand } from "@perdure/partition";
import type { Processor } from "@perdure/processor";
import type { AsyncPartitionStore, Leases, PartitionStore } from "@perdure/store";
import type { MediumPlant } from "./workers/medium.js";
import type { World } from "./world.js";

/** What stands between the parts of a leader; what is left out is as it should be. */
export interface Plant {
  readonly store?: (store: PartitionStore, world: World) => PartitionStore;
  readonly host?: (host: InvokerHost) => InvokerHost;
  /** In place of the real ones, of each leader. */
  readonly slots?: (limit: number, clock: Clock) => Slots;
  readonly invoker?: (invoker: Invoker, host: InvokerHost) => Invoker;
  /** In place of the real one, of each partition. */
  readonly flowScheduler?: (book: RuleBook, world: World) => FlowScheduler;
  readonly deliver?: (
    processor: Processor,
    command: PartitionCommand,
    producer: string,
    seq: number,
    delivered: () => void,
  ) => boolean;
  /** Of a cluster: the store as a worker reaches it, its leases, what it shows to others, the medium itself. */
  readonly asyncStore?: (store: AsyncPartitionStore, world: World) => AsyncPartitionStore;
  readonly leases?: (leases: Leases) => Leases;
  readonly served?: (served: ServedPartitions) => ServedPartitions;
  readonly medium?: MediumPlant;
}
