/** Bodies of the requests of the management API, as the server checks them. */
export * from "./deployments/requests.js";
export * from "./events/requests.js";
export * from "./flow-control/requests.js";
export { type ForkBody, ForkInvocation, type StepEditBody } from "./invocations/fork-requests.js";
export * from "./invocations/requests.js";
export * from "./invocations/sandbox-requests.js";
export * from "./schedules/requests.js";
export * from "./server/requests.js";
export * from "./services/requests.js";
export * from "./topics/requests.js";
