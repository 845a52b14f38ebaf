/** Runs the runtimes of environments as `Environment` objects of a Kubernetes cluster, which the operator reconciles. */

export type { RuntimeTemplate } from "./desired-environment.js";
export {
  type KubernetesProvisionerOptions,
  type KubernetesProvisionerPorts,
  openKubernetesProvisioner,
} from "./provisioner.js";
export { namespaceRules, platformRules } from "./rbac.js";
export { openRuntimeWaker, type RuntimeWaker, type WakerPorts } from "./waker.js";
