/** Requests to the cloud: bodies with bounds, and errors in the form that command lines and the console read. */

export { wholeBody } from "./body.js";
export { apiErrorOf, errorBody, notAMember, PlanLimitError, type PlanQuota, TenancyApiError, unauthenticated } from "./errors.js";
export { type ApiFailurePorts, logFailure } from "./failures.js";
export { bodyOf, respond } from "./requests.js";
