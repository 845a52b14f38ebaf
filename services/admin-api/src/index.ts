/** Serves the management API of an environment: REST, and SQL over partitions and metadata. */
export { createAdminApi } from "./admin-api.js";
export { openAdminListener } from "./admin-listener.js";
export { type BatchService, openBatches, openSharedBatches } from "./batches/batches.js";
export { createCallEndpoint } from "./call-endpoint.js";
export { conditionRows } from "./condition-rows.js";
export { type AdminSettings, adminSettings, adminSettingsShape, sqlOptionsOf } from "./config.js";
export { browserGuard } from "./http/browser-guard.js";
export type { RequestListener } from "./http/server.js";
export { sqlEndings } from "./metrics.js";
export { DeletedCopies } from "./operations/deleted-copies.js";
export { operationRows } from "./operations/operation-rows.js";
export { operationsOf } from "./operations/operations.js";
export type { AdminOptions, AdminPorts, CallEndpoint, DataSetUsage, EndpointResponse, Sql, StatementAnswer } from "./ports.js";
