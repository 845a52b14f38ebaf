/** What the processes of a cluster share beside their roles: addresses of other processes, and connections to them. */
export { openPublicCertificate, openTenancy, type PublicTls, publicTlsSettings } from "./cloud-listeners.js";
export { type EndpointSettings, type Endpoints, openEndpoints } from "./endpoints.js";
export { type GrpcListener, type GrpcListenerSettings, openGrpcListener } from "./grpc-listener.js";
export { openPeerCredentials } from "./peer-credentials.js";
export {
  openRegistryClient,
  openWorkers,
  type PeerAddresses,
  type PeerPorts,
  type RegistryClient,
  type Workers,
} from "./peers.js";
export {
  environmentSetting,
  grpcSettings,
  metadataSettings,
  probeSettings,
  redisOptionsOf,
  redisSettings,
  registryAddresses,
  required,
  tenancyAddresses,
  tlsSettings,
  workerAddresses,
} from "./settings.js";
