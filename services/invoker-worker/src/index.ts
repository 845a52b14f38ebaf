/** Leases partitions and runs one processor and one invoker for them. */
export { invokerOptionsOf, type WorkerSettings, workerSettings } from "./config.js";
export { observeSubscriptions, observeWorker, type WorkerMetrics, workerMetrics } from "./metrics.js";
export { createInvokerWorker, type InvokerWorker, type InvokerWorkerOptions, type InvokerWorkerPorts } from "./role.js";
