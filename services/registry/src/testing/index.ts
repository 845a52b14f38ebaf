/** Why: tests of the registry and of the doors to it need endpoints that answer, and a way to ask them, without a driver. */
export * from "./endpoint.js";
export * from "./node-fetcher.js";
export * from "./register-request.js";
export * from "./registry.js";
export * from "./rules.js";
