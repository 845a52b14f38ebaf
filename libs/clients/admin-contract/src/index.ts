/**
 * The management API once, for servers and clients: operations (method, path, query, shapes of responses) and bodies of requests. Shapes
 * are strict; clients read responses through `tolerant`. A field that is added later is optional, because clients also read the responses
 * of older servers.
 */
export * from "./deployments/operations.js";
export * from "./deployments/requests.js";
export * from "./deployments/responses.js";
export * from "./deployments/verification.js";
export * from "./fields.js";
export * from "./flow-control/operations.js";
export * from "./flow-control/requests.js";
export * from "./flow-control/responses.js";
export * from "./invocations/batches.js";
export * from "./invocations/insight.js";
export * from "./invocations/operations.js";
export * from "./invocations/requests.js";
export * from "./invocations/responses.js";
export * from "./invocations/verbs.js";
export * from "./limits.js";
export * from "./operation.js";
export * from "./problem.js";
export * from "./schedules/operations.js";
export * from "./schedules/requests.js";
export * from "./schedules/responses.js";
export * from "./server/operations.js";
export * from "./server/requests.js";
export * from "./server/responses.js";
export * from "./services/operations.js";
export * from "./services/requests.js";
export * from "./services/responses.js";
export * from "./tolerant.js";
export * from "./topics/operations.js";
export * from "./topics/requests.js";
export * from "./topics/responses.js";
