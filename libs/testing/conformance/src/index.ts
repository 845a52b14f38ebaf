/** Runs real SDK services against any running Perdure, and measures it under load. */
export * from "./admin-client.js";
export * from "./curl.js";
export * from "./eventually.js";
export * from "./fake-lambda.js";
export * from "./http.js";
export * from "./ingress-client.js";
export * from "./probe.js";
export * from "./raw-endpoint.js";
export * from "./sdk-endpoint.js";
export { SdkProgram } from "./sdks/endpoint.js";
export * from "./server.js";
export * from "./stubborn-client.js";
export * from "./tutorials/page.js";
export * from "./tutorials/scenarios.js";
export * from "./world.js";
