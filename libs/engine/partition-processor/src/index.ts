export { Archiver, type ArchiverOptions, type ArchiverPorts } from "./archiver.js";
export { type Archiving, type ArchivingPorts, createArchiving } from "./cluster/archiving.js";
export { LeaderPartitions } from "./cluster/leader-partitions.js";
export {
  HANDOVER_CAUSES,
  type HandoverCause,
  type LeaderHandle,
  PartitionLeadership,
  type PartitionLeadershipOptions,
  type PartitionLeadershipPorts,
} from "./cluster/leadership.js";
export {
  createLeadingWorker,
  type LeadingWorker,
  type LeadingWorkerMetrics,
  type LeadingWorkerOptions,
  type LeadingWorkerPorts,
} from "./cluster/leading-worker.js";
export { NO_RULES, type RuleSource } from "./flow-control.js";
export { LocalPartitions } from "./local-partitions.js";
export { LoopbackPeers } from "./loopback-peers.js";
export { OrderedPeers } from "./ordered-peers.js";
export type { OutboxPeers } from "./outbox.js";
export type { ProcessorCounters, ProcessorMetrics, ProcessorOptions, ProcessorPorts } from "./ports.js";
export { newCounters, Processor } from "./processor.js";
