/** Runs an environment as an `Environment` object of a cluster: applies, watches, suspends and erases it. */

export type { RuntimeTemplate } from "./desired-environment.js";
export {
  type KubernetesProvisionerOptions,
  type KubernetesProvisionerPorts,
  openKubernetesProvisioner,
} from "./provisioner.js";
export { namespaceRules, platformRules } from "./rbac.js";
export { openRuntimeWaker, type RuntimeWaker, type WakerPorts } from "./waker.js";
