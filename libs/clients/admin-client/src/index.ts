/** Calls the management API, SQL and the ingress of one runtime with typed methods. */
export * from "./admin-client.js";
export type { ApiCallOptions, ApiClientOptions } from "./api-client.js";
export { AdminApiError, isRecord } from "./api-error.js";
export { parseBundle } from "./bundle.js";
export { COMPARED_STEPS_MAX, type ComparedStep, compareSteps, type StepDifference } from "./compare-steps.js";
export type { ConsoleDocument, ConsoleDocumentName } from "./console-documents.js";
export { type DeploymentChanges, findingsOf, type Registration, type RegistrationResult } from "./deployments.js";
export * from "./ingress-client.js";
export * from "./invocation-filter.js";
export type { BatchStart, BundleOptions, ForkStart, SandboxStart, TimelineOptions } from "./invocations.js";
export type { KeyExpiry, KeyState } from "./object-state.js";
export type { SqlRow } from "./sql.js";
export * from "./sql-text.js";
export { bytesOfHex, type StateMap, stateVersion } from "./state.js";
export { type ApiTransport, fetchTransport, type TransportRequest, type TransportResponse } from "./transport.js";
export * from "./views.js";
