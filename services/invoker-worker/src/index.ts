/** Leases partitions and runs one processor and one invoker for them. */
export { invokerOptionsOf, WORKER_SETTINGS_SENTENCE, workerSettingsShape } from "./config.js";
export { liveWorkerOf } from "./live-worker.js";
export { observeSubscriptions, observeWorker, type WorkerMetrics, workerMetrics } from "./metrics.js";
export { createInvokerWorker, type InvokerWorker } from "./role.js";
export { countUnfinished } from "./usage.js";
