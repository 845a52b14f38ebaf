/** Environments of the cloud: reconciliation with a provisioner, quotas, usage, and what gateways and relays read. */

export { createAddresses, type EnvironmentAddresses } from "./addresses.js";
export { isServed } from "./facts.js";
export type { EnvironmentPorts, HibernationMonitor } from "./ports.js";
export { enforceQuotas, openQuotas } from "./quotas.js";
export { createReconciler } from "./reconciler.js";
export { createTenancy } from "./tenancy.js";
export { openUsagePoller, readUsageOverHttp } from "./usage-poller.js";
