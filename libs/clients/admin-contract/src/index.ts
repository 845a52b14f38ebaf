/**
 * The management API once, for servers and clients: operations (method, path, query, shapes of responses). Shapes are strict; clients read
 * responses through `tolerant`. A field that is added later is optional, because clients also read the responses of older servers. Bodies
 * of requests are exported by `@perdure/admin-contract/requests`: their bounds are those of the server, so they do not run in a browser.
 */
export * from "./deployments/operations.js";
export * from "./deployments/responses.js";
export * from "./deployments/verification.js";
export * from "./events/operations.js";
export * from "./events/responses.js";
export * from "./fields.js";
export * from "./flow-control/operations.js";
export * from "./flow-control/responses.js";
export * from "./invocations/batches.js";
export * from "./invocations/bundle.js";
export * from "./invocations/insight.js";
export * from "./invocations/operations.js";
export * from "./invocations/responses.js";
export * from "./invocations/verbs.js";
export * from "./limits.js";
export * from "./operation.js";
export * from "./problem.js";
export * from "./schedules/operations.js";
export * from "./schedules/responses.js";
export * from "./server/operations.js";
export * from "./server/responses.js";
export * from "./services/operations.js";
export * from "./services/responses.js";
export * from "./tolerant.js";
export * from "./topics/operations.js";
export * from "./topics/responses.js";
export * from "./undo/operations.js";
export * from "./undo/responses.js";
