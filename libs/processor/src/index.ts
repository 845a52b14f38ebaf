export { Archiver, type ArchiverOptions, type ArchiverPorts } from "./archiver.js";
export { type Archiving, type ArchivingPorts, createArchiving } from "./cluster/archiving.js";
export {
  HANDOVER_CAUSES,
  type HandoverCause,
  PartitionLeadership,
  type PartitionLeadershipOptions,
  type PartitionLeadershipPorts,
  type LeaderHandle,
} from "./cluster/leadership.js";
export {
  createLeadingWorker,
  type LeadingWorker,
  type LeadingWorkerMetrics,
  type LeadingWorkerOptions,
  type LeadingWorkerPorts,
} from "./cluster/leading-worker.js";
export { LeaderPartitions } from "./cluster/led-partitions.js";
export { NO_RULES, type RuleSource } from "./flow-control.js";
export { LocalPartitions } from "./local-partitions.js";
export { LoopbackPeers } from "./loopback-peers.js";
export { OrderedPeers } from "./ordered-peers.js";
export type { OutboxPeers } from "./outbox.js";
export type { ProcessorCounters, ProcessorMetrics, ProcessorOptions, ProcessorPorts } from "./ports.js";
export { newCounters, Processor } from "./processor.js";
