/** Serves the Cloud API: accounts, members, environments, keys, usage and the audit log. */

export { CallRates } from "./call-rates.js";
export { createCloudApi } from "./cloud-api.js";
export { mayBePage, PROXY_PREFIX } from "./console-paths.js";
export { accountPowers, answerAccountOperation, answerUserOperation, shaped } from "./dispatch.js";
export { API_CALLS, REQUESTS_MAX, REQUESTS_OF_NETWORK_MAX } from "./limits.js";
export { type CallerFacts, OperationCall, optionalSeconds, seconds } from "./operation.js";
export { userHandlers } from "./operations/accounts.js";
export type { TenancyOptions, TenancyPorts } from "./ports.js";
