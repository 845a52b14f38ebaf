export type { RemoteCommand } from "./codec/commands.js";
export { type MutualTls, openChannel, SERVER_OPTIONS, serverCredentials } from "./connection.js";
export { partitionsDefinition, registryDefinition, schedulesDefinition } from "./definitions.js";
export { DirectoryWatch } from "./directory-watch.js";
export { type DirectoryNews, type LeaderClaim, LeaderDirectory } from "./leadership.js";
export { Link } from "./link.js";
export { registryHandlers } from "./registry-server.js";
export { RemotePartitions, type RemotePartitionsPorts } from "./remote-partitions.js";
export {
  openRemoteRegistry,
  type RemoteRegistry,
  type RemoteRegistryOptions,
  type RemoteRegistryPorts,
} from "./remote-registry.js";
export { RemoteRows, type RemoteRowsPorts } from "./remote-rows.js";
export { schedulesHandlers } from "./schedules-server.js";
export { partitionsHandlers, type ServedPartitions } from "./server.js";
export type { LiveWorker } from "./worker-rows.js";
