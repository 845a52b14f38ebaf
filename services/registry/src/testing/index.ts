/** Test helpers of the registry and the APIs on it: endpoints that respond, and a fetcher without a driver. */
export * from "./endpoint.js";
export * from "./node-fetcher.js";
export * from "./register-request.js";
export * from "./registry.js";
export * from "./rules.js";
