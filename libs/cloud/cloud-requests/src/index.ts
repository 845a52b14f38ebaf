/** Reads bounded bodies of requests to the cloud and writes errors in the form that the command line and the console read. */

export { wholeBody } from "./body.js";
export { apiErrorOf, errorBody, notAMember, PlanLimitError, type PlanQuota, TenancyApiError, unauthenticated } from "./errors.js";
export { type ApiFailurePorts, logFailure } from "./failures.js";
export { bodyOf, respond } from "./requests.js";
