/** Gives the processes of a cluster what they share: addresses, certificates, connections to each other, and a gRPC listener. */
export { openPublicCertificate, openTenancy, publicTlsSettings } from "./cloud-listeners.js";
export { type Endpoints, openEndpoints } from "./endpoints.js";
export { type GrpcListener, type GrpcListenerSettings, openGrpcListener } from "./grpc-listener.js";
export { openPeerCredentials } from "./peer-credentials.js";
export { openRegistryClient, openWorkers, type Workers } from "./peers.js";
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
