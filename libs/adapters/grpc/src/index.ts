/** Carries requests, commands and rows between roles: over gRPC between processes, over message ports between threads. */
export type { Channel } from "./channel.js";
export type { RemoteCommand } from "./codec/commands.js";
export type { LeadershipStatus, WorkerStatus } from "./codec/workers.js";
export {
  type MutualTls,
  openChannel,
  type PeerCredentials,
  SERVER_OPTIONS,
  serverCredentials,
  serverOptions,
} from "./connection.js";
export { partitionsDefinition, registryDefinition, schedulesDefinition, tenancyDefinition } from "./definitions.js";
export { DirectoryWatch } from "./directory-watch.js";
export { type DirectoryUpdate, directoryUpdateOf, LeaderDirectory } from "./leadership.js";
export { WorkerLink } from "./link.js";
export { linksToWorkers } from "./links.js";
export type { LiveWorker } from "./live-worker.js";
export { openPortChannel } from "./message-port/client.js";
export { type PortServer, servePort } from "./message-port/server.js";
export { observedHandlers, observedMethods } from "./observed.js";
export { PerWorker } from "./per-worker.js";
export { registryHandlers, Watchers } from "./registry-server.js";
export type { RemoteRegistryOptions, RemoteRegistryPorts } from "./registry-watch.js";
export { RemotePartitions } from "./remote-partitions.js";
export { openRemoteRegistry, type RemoteRegistry } from "./remote-registry.js";
export { RemoteRows } from "./remote-rows.js";
export { RemoteTenancy } from "./remote-tenancy.js";
export { schedulesHandlers } from "./schedules-server.js";
export { partitionsHandlers, type ServedPartitions } from "./server.js";
export type { SharedToken } from "./shared-token.js";
export { tenancyHandlers } from "./tenancy-server.js";
