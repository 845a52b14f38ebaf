/** Leases partitions, with one processor and invoker for them. */
export { invokerOptionsOf, retryPolicyOf, type WorkerSettings, workerSettings } from "./config.js";
export { createInvokerWorker, type InvokerWorker, type InvokerWorkerOptions, type InvokerWorkerPorts } from "./role.js";
