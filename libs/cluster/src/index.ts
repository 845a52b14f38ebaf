/** Why: what the processes of a cluster have in common beside their roles: where others are, and how to speak with them. */
export { firstNews, openPublicCertificate, type PublicTls, publicTlsSettings } from "./cloud-doors.js";
export { type EndpointSettings, type Endpoints, openEndpoints } from "./endpoints.js";
export { type GrpcDoor, type GrpcDoorSettings, openGrpcDoor } from "./grpc-door.js";
export { openPeerCredentials } from "./peer-credentials.js";
export { type Addresses, openRegistryClient, openWorkers, type PeerPorts, type RegistryClient, type Workers } from "./peers.js";
export {
  environmentSetting,
  grpcSettings,
  metadataSettings,
  probeSettings,
  redisOptionsOf,
  redisSettings,
  registryAddresses,
  required,
  tlsSettings,
  workerAddresses,
} from "./settings.js";
