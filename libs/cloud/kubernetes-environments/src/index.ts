/** Runs the runtimes of environments as `Environment` objects of a Kubernetes cluster, which the operator reconciles. */

export type { RuntimeTemplate } from "./desired-environment.js";
export { openKubernetesProvisioner } from "./provisioner.js";
export { namespaceRules, platformRules } from "./rbac.js";
export { openRuntimeWaker, type RuntimeWaker } from "./waker.js";
