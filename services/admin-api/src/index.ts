/** Why: the management API as a request handler over ports. */
export { createAdminApi } from "./admin-api.js";
export { type CallEndpointPorts, createCallEndpoint } from "./ask-endpoint.js";
export { type BatchService, type BatchPorts, openBatches, openSharedBatches } from "./batches/batches.js";
export { type AdminSettings, adminSettings, adminSettingsShape, sqlOptionsOf } from "./config.js";
export { openAdminListener } from "./door.js";
export type { RequestListener } from "./http/server.js";
export { sqlEndings } from "./metrics.js";
export type { AdminOptions, AdminPorts, CallEndpoint, EndpointResponse, Sql, SqlAnswer, SqlFormat, UsageReport } from "./ports.js";
