/** Starts clusters and clouds of processes on this machine for tests, benches, `make cluster` and `make cloud`. */
export { builtConsole, executable, programBundle, ROOT } from "./bundle.js";
export {
  apiUrlOf,
  cloudGatewaySettings,
  type LocalCloud,
  type LocalCloudRole,
  tenancySettings,
  tunnelRelaySettings,
} from "./cloud-settings.js";
export {
  adminSettings,
  environmentOf,
  gatewaySettings,
  type LocalCluster,
  type LocalRole,
  type RoleSettings,
  registrySettings,
  workerSettings,
} from "./cluster-settings.js";
export { type CloudPorts, DevCloud, type DevCloudOptions } from "./dev-cloud.js";
export { type ClusterPorts, DevCluster, type DevClusterOptions, KAFKA_CLUSTER } from "./dev-cluster.js";
export { type ReadyFacts, readyFactsOf, ServiceProgram, type ServiceProgramOptions } from "./service-program.js";
export type { ShowProgress, Supervision } from "./supervision.js";
