/** Reconciles environments of the cloud with a provisioner, enforces quotas, and serves gateways and relays what they read. */

export { createAddresses, type EnvironmentAddresses } from "./addresses.js";
export { isServed } from "./facts.js";
export type { EnvironmentPorts, HibernationMonitor } from "./ports.js";
export { enforceQuotas, openQuotas } from "./quotas.js";
export { createReconciler } from "./reconciler.js";
export { createTenancy } from "./tenancy.js";
export { openUsagePoller, readUsageOverHttp } from "./usage-poller.js";
