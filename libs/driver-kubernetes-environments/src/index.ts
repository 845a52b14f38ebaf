/** Why: an environment's runtime as an `Environment` object of a cluster: wished for, watched, put to rest and erased. */

export type { RuntimeTemplate } from "./desired-environment.js";
export {
  type KubernetesProvisionerOptions,
  type KubernetesProvisionerPorts,
  openKubernetesProvisioner,
} from "./provisioner.js";
export { namespaceRules, platformRules } from "./rbac.js";
export { openRuntimeWaker, type RuntimeWaker, type WakerPorts } from "./waker.js";
