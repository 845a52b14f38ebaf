/** Loads, applies, commits and performs the commands of partitions, with timers, outbox and leadership. */
export { Archiver, type ArchiverOptions, type ArchiverPorts } from "./archive/archiver.js";
export { LocalPartitions } from "./callers/local-partitions.js";
export { RoutedPartitions } from "./callers/routed-partitions.js";
export { type Archiving, type ArchivingPorts, createArchiving } from "./cluster/archiving.js";
export { LeaderPartitions } from "./cluster/leader-partitions.js";
export {
  HANDOVER_CAUSES,
  type HandoverCause,
  type LeaderHandle,
  PartitionLeadership,
  type PartitionLeadershipOptions,
  type PartitionLeadershipPorts,
  type PartitionStarter,
} from "./cluster/leadership.js";
export {
  LeadingWorker,
  type LeadingWorkerMetrics,
  type LeadingWorkerOptions,
  type LeadingWorkerPorts,
} from "./cluster/leading-worker.js";
export type { EventSubscriptionSource } from "./event-subscriptions.js";
export { NO_RULES, type RuleSource } from "./flow/flow-control.js";
export { LoopbackPeers } from "./outbox/loopback-peers.js";
export { OrderedPeers } from "./outbox/ordered-peers.js";
export type { OutboxPeers } from "./outbox/outbox.js";
export { SubsetPeers } from "./outbox/subset-peers.js";
export { newCounters } from "./partition-group.js";
export type { ProcessorCounters, ProcessorMetrics, ProcessorOptions, ProcessorPorts } from "./ports.js";
export { Processor } from "./processor.js";
export type { StateTtlSource } from "./view/live-state-ttls.js";
