export type { RemoteCommand } from "./codec/commands.js";
export { type MutualTls, openChannel, SERVER_OPTIONS, serverCredentials } from "./connection.js";
export { partitionsDefinition } from "./definitions.js";
export { DirectoryWatch } from "./directory-watch.js";
export { type DirectoryNews, type LeaderClaim, LeaderDirectory } from "./leadership.js";
export { Link } from "./link.js";
export { RemotePartitions, type RemotePartitionsPorts } from "./remote-partitions.js";
export { partitionsHandlers, type ServedPartitions } from "./server.js";
