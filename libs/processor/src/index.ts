export { Archiver, type ArchiverOptions, type ArchiverPorts } from "./archiver.js";
export { NO_RULES, type RuleSource } from "./flow-control.js";
export { LocalPartitions } from "./local-partitions.js";
export { LoopbackPeers } from "./loopback-peers.js";
export { OrderedPeers } from "./ordered-peers.js";
export type { OutboxPeers } from "./outbox.js";
export { Processor, type ProcessorCounters, type ProcessorOptions, type ProcessorPorts } from "./processor.js";
